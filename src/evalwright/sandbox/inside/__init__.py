"""What runs on the far side of the wall: a worker's zygote, and what it forks.

    libc           calls of libc and raw syscalls, checked; the numbers that a jail is made of
    syscalls       numbers of the calls on x86_64 and aarch64, and the allow-list
    seccomp        the allow-list as a filter, and its installation
    walls          what every process of a candidate loses: descriptors, limits, calls
    elf            which shared objects a file needs
    layout         what of the host a jail must show
    packages       finds the extra packages
    namespaces     the tier with a root of its own
    landlock       the tier without one: some paths may be read, nothing else touched
    wire           frames of JSON over a stream socket
    values         Python values to tagged JSON and back
    judging        run a candidate and judge a target; an evaluator in one process
    candidate      the process that runs the candidate and answers calls
    link           the evaluator's end of the conversation with the candidate
    proxies        proxies in the evaluator for what the candidate has
    process_state  environment, stdin and seed, as the target sets them
    rehearsal      judges one program before the first fork
    evaluator      the process that holds the targets and makes the verdict
    zygote         forks for every candidate

It is `evalwright.sandbox.inside` to the engine and the tests, and a package of its own, `inside`,
in the zygote's bare interpreter: its modules import one another by relative names, and else the
standard library alone, as little of it as they can. Every module makes each fork dearer.
"""
