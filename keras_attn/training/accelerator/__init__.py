"""The compilers of TPUs and GPUs, without the chip."""
