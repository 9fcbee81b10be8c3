import pytest

from examples import show_data


@pytest.mark.parametrize("task", show_data.TASKS)
def test_each_task_is_shown_with_its_shapes(task, capsys):
    config = show_data.Config(task=task, batch_size=2, num_texts=300)
    batch = show_data.main(config)
    printed = capsys.readouterr().out
    assert "Batch 0, row 1" in printed and "row 2" not in printed
    for name, tensor in show_data.named(batch):
        assert None not in tensor.shape and tensor.shape[0] == 2
        assert f"{name}: {tuple(tensor.shape)}" in printed


def test_words_and_pictures_are_readable(capsys):
    config = show_data.Config(task="captioning", batch_size=1, num_texts=300)
    show_data.main(config)
    printed = capsys.readouterr().out
    assert "target: [START] a " in printed and "[END]" in printed
    assert "@@" in printed


def test_a_wrong_task_gets_a_list_of_them():
    with pytest.raises(SystemExit, match=r"no task 'cooking'. Tasks: transl"):
        show_data.main(show_data.Config(task="cooking"))
