"""Text functions: render prompts, post-process answers, compare them.

    prompt         a task → the text a model gets; a prompt → the lettered options that it offers
    post_process   a model's answer → what the metric sees
    similarity     `exact_match`, `f1`, `bleu_4`, `rouge_l`: prediction, targets → a float in [0, 1]
    normalize      a text → the same without differences of case, punctuation or Unicode form
    visible        a text → the same, with characters written out that act on a terminal

Nothing here keeps state, reads a file or calls a model.
"""
