"""Run untrusted code, and judge it.

    jailed      in a jail, judged by a process that the code cannot reach
    unsafe      in a child process with limits and a deadline, where no jail is available

    worker      the engine's end of one zygote, which forks for every candidate
    inside/     what runs in the zygote and its children
    tiers    which tier of isolation this machine has
    verdict     what an evaluator's report means

Every adapter keeps the promises of `ports.Sandbox`; `tests/contracts/test_sandbox.py` holds them.
"""
