"""Text functions: render prompts, and post-process and compare answers.

    prompt         render the prompt of a task; find the lettered options in a prompt
    post_process   extract the part of an answer that the metric compares
    similarity     compute `exact_match`, `f1`, `bleu_4` and `rouge_l`, in [0, 1]
    normalize      remove differences in case, punctuation and Unicode form
    visible        escape terminal control characters

The functions keep no state, read no files and call no models.
"""
