"""RNNLanguageModel: the recurrent language model."""
