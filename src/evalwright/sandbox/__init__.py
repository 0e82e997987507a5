"""Run code that nobody has read, and judge it.

    jailed      behind walls, and judged by a process that the code cannot reach
    unsafe      a child process with limits and a deadline: where there are no walls to be had

    worker      the engine's end of one zygote, which forks for every candidate
    inside/     what runs in the zygote, and in what it forks
    selftest    which walls this machine has, by trying to get through them
    verdict     what the report of an evaluator means
    packages    where extra packages lie

Every adapter keeps the promises of `ports.Sandbox`; `tests/contracts/test_sandbox.py` holds them.
"""
