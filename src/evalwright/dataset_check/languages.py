"""Estimate the script and the language of a text.

    find_script("الكتاب جديد")           Arabic
    find_language("Der Hund ist da und …")   de

The script is that of most letters among the first 200 characters. The language is that of the
script, or, for Latin letters, the one whose frequent words occur most often. It is an estimate:
short texts, and languages that are not in the list, have none.
"""

import re

MOST_CHARACTERS = 200
_MOST_WORDS = 60
_FEWEST_HITS = 2
_SCRIPTS = {
    "Latin": r"A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "Arabic": r"\u0620-\u064a\u066e-\u06d3\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Cyrillic": r"\u0400-\u052f",
    "Greek": r"\u0370-\u03ff\u1f00-\u1fff",
    "Hebrew": r"\u05d0-\u05f4",
    "Devanagari": r"\u0900-\u097f",
    "Bengali": r"\u0980-\u09ff",
    "Tamil": r"\u0b80-\u0bff",
    "Thai": r"\u0e00-\u0e7f",
    "Georgian": r"\u10a0-\u10ff",
    "Armenian": r"\u0530-\u058f",
    "Hangul": r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Kana": r"\u3040-\u30ff\u31f0-\u31ff",
    "Han": r"\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_OTHERS = {name: pattern for name, pattern in _LETTERS.items() if name != "Latin"}
_LANGUAGES = {
    "Greek": "el",
    "Hebrew": "he",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Tamil": "ta",
    "Thai": "th",
    "Georgian": "ka",
    "Armenian": "hy",
    "Hangul": "ko",
    "Kana": "ja",
    "Han": "zh",
}
_PERSIAN = re.compile(r"[\u067e\u0686\u0698\u06af]")
_UKRAINIAN = re.compile(r"[\u0404\u0406\u0407\u0454\u0456\u0457\u0490\u0491]")
_WORD = re.compile(r"[^\W\d_]+")
_FREQUENT_WORDS = {
    "en": "the of and to in is that it for was on with as are this be at by from have what which",
    "de": "der die und das ist nicht ein eine den mit von zu auf für im dem sich wird auch welche",
    "fr": "le la les des est et une que dans pour pas sur qui avec ce il sont au par quelle",
    "es": "el la los las que es una por con para del no se su como más pero qué cuál fue",
    "it": "il di che è per una con non sono del della gli nel anche come più questo quale alla",
    "pt": "o os que é uma para com não do da em no na se mais como dos das qual foi",
    "nl": "de het een en van is dat op te met voor niet zijn aan er ook om bij welke naar",
    "pl": "nie jest się na że do to jak ale po jego czy dla od przez był które oraz",
    "tr": "bir ve bu için ile da de çok olarak daha ne gibi kadar değil olan var mi",
    "sv": "och att det som en är på för med av inte den till har ett om vilken från",
    "vi": "là của và có không được một trong cho với những các người này đã",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam adalah pada ke apa akan",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _FREQUENT_WORDS.items():
    for _one_word in _words.split():
        _LANGUAGES_OF.setdefault(_one_word, []).append(_language)
MIXED_WORD = re.compile(
    r"[A-Za-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][A-Za-z]"
)
"""A Latin letter next to a Greek or Cyrillic one, many of which look the same."""


def find_script(text: str) -> str:
    """Return the script of most letters; empty if there are none."""
    start = text[:MOST_CHARACTERS]
    if start.isascii():
        return "Latin" if _LETTERS["Latin"].search(start) else ""
    counts = {name: len(pattern.findall(start)) for name, pattern in _LETTERS.items()}
    most = max(counts, key=counts.__getitem__)
    if most == "Han" and counts["Kana"]:
        most = "Kana"
    if counts[most]:
        return most
    return "other" if any(map(str.isalpha, start)) else ""


def find_language(text: str) -> str:
    """Return the ISO 639-1 code of the language; empty if it is unclear."""
    script = find_script(text)
    if script == "Latin":
        return _find_latin_language(text)
    if script == "Arabic":
        return "fa" if _PERSIAN.search(text) else "ar"
    if script == "Cyrillic":
        return "uk" if _UKRAINIAN.search(text) else "ru"
    return _LANGUAGES.get(script, "")


def _find_latin_language(text: str) -> str:
    hits: dict[str, int] = {}
    for word in _WORD.findall(text[: MOST_CHARACTERS * 4].lower())[:_MOST_WORDS]:
        for language in _LANGUAGES_OF.get(word, ()):
            hits[language] = hits.get(language, 0) + 1
    ranked = sorted(hits, key=hits.__getitem__, reverse=True)
    if not ranked or hits[ranked[0]] < _FEWEST_HITS:
        return ""
    is_tied = len(ranked) > 1 and hits[ranked[0]] == hits[ranked[1]]
    return "" if is_tied else ranked[0]
