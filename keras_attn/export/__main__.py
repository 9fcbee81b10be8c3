"""`python -m keras_attn.export`: export, verify, inspect or serve a model."""

import sys

from keras_attn.export.command_line import main

if __name__ == "__main__":
    sys.exit(main())
