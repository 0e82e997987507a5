from evalwright.session.progress import Progress, SilentProgress


def test_nobody_has_to_watch() -> None:
    progress: Progress = SilentProgress()

    progress.begin(1, 0, None)
    progress.on_commit([])
    progress.tell("nothing")
    progress.end(interrupted=False)
