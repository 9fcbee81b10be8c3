"""Training scripts, one for each task, each a document."""

from examples.quiet_import import import_tensorflow

import_tensorflow()
