"""Pure text: what a model is asked, how its answer is trimmed, how it is compared.

    few_shot       a task → the text a model gets
    options        a prompt → the lettered options that it offers
    post_process   a model's answer → what the metric sees
    exact_match, f1, bleu_4, rouge_l   `score(prediction, targets)` → a float in [0, 1]
    tokens         the one tokenizer of the last three
    nearest        the "did you mean" of every error message

`accuracy` is `exact_match` under the name that classification uses, and has no module of its own.
Nothing here keeps state, reads a file or calls a model. No metric imports another.
"""
