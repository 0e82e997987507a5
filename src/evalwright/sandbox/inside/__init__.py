"""What runs on the far side of the wall: a worker's zygote, and what it forks.

    kernel       numbers that name what a jail is made of
    libc         the door to the kernel: checked calls, raw syscalls
    syscalls     numbers of the calls on x86_64 and aarch64, and the allow-list
    seccomp      the allow-list as a filter; puts it on
    landlock     some paths may be read, nothing else touched
    walls        what every process of a candidate loses: descriptors, limits, rights, calls
    elf          which shared objects a file needs
    layout       what of the host a jail must show
    packages     finds the extra packages
    namespaces   the tier with a root of its own
    unshared     the tier without one: Landlock
    wire         frames of tagged JSON over a stream socket
    values       Python values to tagged JSON and back
    standard     values of the standard library and of numpy, likewise
    jobs         what the engine wants judged
    judging      compile and judge one target, describe errors, say records
    handles      what the candidate hands over that is no plain value
    candidate    the process that runs the candidate and answers calls
    link         the evaluator's end of the conversation with the candidate
    proxies      what stands in the evaluator for an object of the candidate's
    valued       the same for a builtin with a class of the candidate's behind it
    exceptions   the same for exceptions
    names        the names that a target sees
    evaluator    the process that holds the targets and makes the verdict
    in_process   both in one, for those who ask for it
    zygote       forks for every candidate

It is `evalwright.sandbox.inside` to the engine and the tests, and a package of its own, `inside`,
in the zygote's bare interpreter: its modules import one another by relative names, and else the
standard library alone, as little of it as they can. Every module makes each fork dearer.
"""
