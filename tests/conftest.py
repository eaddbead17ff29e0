"""What every test stands on: what was collected is no garbage. Knows no test."""

import gc


def pytest_collection_finish() -> None:
    """Leave what there is by now out of every later collection: it is looked through thousands of times, else.

    Whoever searches for what a provider left behind collects garbage first, and 25,000 collected tests make each time
    last half a second, in which no event loop of a test runs.
    """
    gc.collect()
    gc.freeze()
