"""`python -m keras_attn.training`: ask a chip's compiler about a model."""

import sys

from keras_attn.training.accelerator.command_line import main

if __name__ == "__main__":
    sys.exit(main())
