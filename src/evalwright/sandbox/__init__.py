"""Run code that nobody has read, and judge it.

    unsafe    a child process with limits and a deadline: only when the user asks for it

Every adapter keeps the promises of `ports.Sandbox`; `tests/contracts/test_sandbox.py` holds them.
"""
