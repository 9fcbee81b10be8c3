from keras_attn.training.resuming.position import Position


def test_it_counts_batches_epochs_and_steps():
    place = Position()
    place.begin_epoch(3)
    place.train(2, 2)
    place.train(4, 2)
    assert place == Position(epoch=3, step=4, epochs=0, batches=4)
    place.end_epoch()
    assert place == Position(epoch=4, step=0, epochs=1, batches=4)
    place.begin_epoch(4)
    place.train(2, 2)
    assert place == Position(epoch=4, step=2, epochs=1, batches=6)
