"""Scripts and languages of texts."""

from evalwright.dataset_check.languages import MIXED_WORD, find_language, find_script

TEXTS = {
    "What is the name of the longest river?": ("Latin", "en"),
    "Der Hund ist nicht da, und die Katze auch nicht.": ("Latin", "de"),
    "Quelle est la capitale de la France ?": ("Latin", "fr"),
    "¿Cuál es el río más largo?": ("Latin", "es"),
    "ما هو أطول نهر في العالم؟": ("Arabic", "ar"),
    "پایتخت ایران چیست؟": ("Arabic", "fa"),
    "Какая река самая длинная?": ("Cyrillic", "ru"),
    "Яка річка найдовша?": ("Cyrillic", "uk"),
    "最长的河流是什么": ("Han", "zh"),
    "世界で一番長い川はどれですか": ("Kana", "ja"),
    "가장 긴 강은 무엇입니까": ("Hangul", "ko"),
    "Ποιος είναι μεγαλύτερος ποταμός": ("Greek", "el"),
    "12 + 30 = 42": ("", ""),
    "Paris": ("Latin", ""),
    "": ("", ""),
}


def test_the_script_and_the_language_of_texts() -> None:
    assert {text: (find_script(text), find_language(text)) for text in TEXTS} == TEXTS


def test_a_word_of_two_scripts_is_found() -> None:
    found = [
        bool(MIXED_WORD.search(text)) for text in ("p\u0430ypal", "Ωmega", "paypal", "Пример word")
    ]

    assert found == [True, True, False, False]
