from calc import add, biggest


def test_add():
    assert add(2, 3) == 5


def test_biggest():
    assert biggest([1, 5, 3]) == 5
