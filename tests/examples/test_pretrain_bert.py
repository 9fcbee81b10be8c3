import pytest

from examples import pretrain_bert


@pytest.mark.slow
# Keras warns at the end of every dataset whose size it cannot know.
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_tells_languages_after_pretraining_and_few_labels():
    config = pretrain_bert.Config(
        pretraining_steps=300, fine_tuning_steps=100, num_labelled=300
    )
    assert pretrain_bert.main(config) > 0.5  # guessing scores 0.25
