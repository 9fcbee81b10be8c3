import time

from keras_attn.base.wait_notice import WaitNotice


def wait_for(capsys, lines):
    """What was said, as soon as it is so many lines."""
    said = ""
    for _ in range(500):
        said += capsys.readouterr().err
        if said.count("\n") >= lines:
            break
        time.sleep(0.01)
    return said


def test_a_wait_says_what_is_done_and_then_what_is_next(capsys):
    with WaitNotice("tests", "boiling", after=0.01) as notice:
        assert wait_for(capsys, 1) == "tests: boiling ...\n"
        notice.say("pouring (2 of 2)")
        assert capsys.readouterr().err == "tests: pouring (2 of 2) ...\n"
    assert capsys.readouterr().err == ""


def test_what_is_over_soon_says_nothing(capsys):
    with WaitNotice("tests", "boiling", after=0.05) as notice:
        notice.say("pouring")
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_it_can_be_silenced(capsys):
    with WaitNotice("tests", "boiling", verbose=False, after=0.01):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_the_line_is_of_what_is_done_by_then(capsys):
    with WaitNotice("tests", "boiling", after=0.05) as notice:
        notice.say("pouring")
        assert wait_for(capsys, 1) == "tests: pouring ...\n"


def test_a_failure_ends_it(capsys):
    try:
        with WaitNotice("tests", "boiling", after=0.05):
            raise ValueError
    except ValueError:
        pass
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
