"""Which language a text is in: told by script and common words, None rather than a guess."""

from __future__ import annotations

import pytest

from assay.metrics.languages import MOST_CHARACTERS, language_of

TEXTS = {
    "en": "The weather is fine and the children are playing in the garden.",
    "de": "Das Wetter ist schön und die Kinder spielen im Garten.",
    "fr": "Le temps est beau et les enfants jouent dans le jardin.",
    "es": "El tiempo es bueno y los niños juegan en el jardín con su perro.",
    "cs": "Dobrý den, jmenuji se Petr a bydlím v Praze se svou rodinou, ale jsem také rád v lese.",
    "hu": "Jó napot kívánok, én Péter vagyok és Budapesten lakom a családommal, de nem messze van az erdő.",
    "ro": "Bună ziua, mă numesc Petru și locuiesc în București cu familia mea.",
    "da": "Goddag, jeg hedder Peter og bor i København med min familie, men vi er af og til på landet.",
    "no": "God dag, jeg heter Per og bor i Oslo med familien, men vi liker å være ute på landet.",
    "pt": "Olá, meu nome é Pedro e moro em Lisboa com a minha família.",
    "ru": "Погода хорошая, и дети играют в саду, но они не поют.",
    "uk": "Погода гарна, і діти грають у саду, але це не все, що є.",
    "ar": "هذا الكتاب على الطاولة في الغرفة مع القلم",
    "fa": "این کتاب است که در اتاق برای من بود",
    "hi": "यह किताब मेज पर है और वह एक कमरे में है",
    "ja": "今日は天気がいいです。",
    "zh": "今天天气很好。",
    "ko": "오늘은 날씨가 좋습니다.",
    "th": "วันนี้อากาศดี",
    "el": "Ο καιρός είναι καλός.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_shows_its_language(language: str) -> None:
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize("text", ["", "   ", "12345 !?", "Xylophon Qwertz", "🙂🙂"])
def test_what_shows_no_language_is_not_guessed_at(text: str) -> None:
    assert language_of(text) is None


def test_most_letters_decide_and_not_a_quoted_word() -> None:
    assert language_of(f"{TEXTS['en']} (Greek: καλός)") == "en"
    assert language_of(f"“the and of” {TEXTS['zh'] * 3}") == "zh"


def test_what_comes_after_a_hundred_thousand_characters_is_not_read() -> None:
    assert language_of(TEXTS["de"].ljust(MOST_CHARACTERS) + TEXTS["zh"] * 100) == "de"
