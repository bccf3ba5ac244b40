"""What is written, and what the voice is given to say for it."""

from functools import cache

import pytest
from hibari.g2p import G2P

from models.speakable import LONGEST, spoken


def said(clause: str) -> str:
    return "".join(reading for _, reading in spoken(clause))


@cache
def tongue() -> G2P:
    return G2P()


def sounds(text: str) -> str:
    """Phonemes, without stress and pauses: those depend on how many words there are."""
    return "".join(phoneme for phoneme in tongue()(text) if phoneme not in " ˈˌ,.;:—“”()")


# Classes of writing, each as it is to be heard; some the voice knows, some are ours.
HEARD = """
There are 1,234,567 people. → There are one million two hundred thirty four thousand five hundred \
sixty seven people.
She came 21st and he 3rd. → She came twenty-first and he third.
It weighs 3.14 or .75 of it. → It weighs three point one four or zero point seven five of it.
Use 3/4 cup, 2 1/2 cups or ½. → Use three quarters cup, two and one half cups or one half.
Take 2½ or 1⅓ of it. → Take two and one half or one and one third of it.
Wait 10-15 minutes or 5–10. → Wait ten to fifteen minutes or five to ten.
It is 10-20% off, or 5% - 10%. → It is ten to twenty percent off, or five percent to ten percent.
At 9am-5pm or 9:00-17:00. → At nine a.m. to five p.m. or nine o'clock to seventeen o'clock.
It's -5 or −12 degrees. → It's minus five or minus twelve degrees.
In 1999 and 2024. → In nineteen ninety nine and twenty twenty four.
Call 555-1234. → Call five five five, one two three four.
Call (555) 123-4567. → Call five five five, one two three, four five six seven.
Call +44 20 7946. → Call plus four four, two zero, seven nine four six.
Ring 911 or 988, or call 112. → Ring nine one one or nine eight eight, or call one one two.
Agent 007 has 100. → Agent zero zero seven has one hundred.
It is 12.5% now. → It is twelve point five percent now.
It cost $3.50 or £20. → It cost three dollars and fifty cents or twenty pounds.
It costs $5-10 or 3 €. → It costs five dollars to ten dollars or three euros.
It is $20/month. → It is twenty dollars per month.
It's 5km, 10 kg and 1 mi. → It's five kilometers, ten kilograms and one mile.
Add 2-3 tsp, 1 tbsp and 20g. → Add two to three teaspoons, one tablespoon and twenty grams.
He is 6'2" tall. → He is six foot two tall.
It's 72°F, 350F or 20 °C. → It's seventy two degrees Fahrenheit, three hundred fifty degrees \
Fahrenheit or twenty degrees Celsius.
At 3:30pm, or at 10AM. → At three thirty p.m., or at ten a.m.
On May 3rd, and on Aug. 5 too. → On May third, and on August fifth too.
On 2024-05-03. → On May third, twenty twenty four.
Dr. Smith met Mrs. Jones. → Doctor Smith met Mrs Jones.
Fruit, e.g. pears, i.e. those. → Fruit, for example, pears, that is, those.
The No. 5 bus, approx 5 min. → The number five bus, approximately five minutes.
Henry VIII and World War II. → Henry the eighth and World War two.
King Charles and Queen Victoria. → king charles and queen victoria.
You & me @ home. → You and me at home.
It is 2 + 2 = 4. → It is two plus two equals four.
So 7 − 3 = 4 and 5 x 3 = 15. → So seven minus three equals four and five times three equals fifteen.
It's 1.5x faster, 5+ years. → It's one point five times faster, five plus years.
A 50/50 chance, 10/10, 16:9. → A fifty fifty chance, ten out of ten, sixteen to nine.
The 80/20 rule, and 80/60. → The eighty twenty rule, and eighty over sixty.
A Boeing 747-400, or 50-50. → A Boeing seven hundred forty seven four hundred, or fifty fifty.
From 9-5, 10pm-6am, in 1998-99. → From nine to five, ten p.m. to six a.m., in nineteen ninety \
eight to ninety nine.
So 2 × 3 = 6 and 2×3. → So two times three equals six and two times three.
Card 4111111111111111. → Card four one one one, one one one one, one one one one, one one one one.
Version 2.0.1. → Version two point zero point one.
He/she said yes/no to it. → He or she said yes or no to it.
I said no. → I said no
We saw the Sun. → We saw the Sun
If ≥ 5 or ≈ 10. → If at least five or about ten.
Mail jo.doe@example.com. → Mail jo dot doe at example dot com.
See https://www.example.com/a?b=1. → See a link to example dot com.
See example.org/x or main.py. → See example dot org or main dot py.
I <3 you :) so. → I you so.
Sooo goooood, shh, aww. → So good, hush, aw.
"""
LINES = [line.split(" → ", 1) for line in HEARD.strip().splitlines()]


@pytest.mark.parametrize(("written", "heard"), LINES)
def test_the_voice_says_what_a_reader_would(written: str, heard: str) -> None:
    assert sounds(said(written)) == sounds(heard)


@pytest.mark.parametrize(("written", "heard"), LINES)
def test_what_is_written_stays_as_it_is(written: str, heard: str) -> None:
    for clause in (written, f"{written} ", f" {written}  Really? "):
        pairs = spoken(clause)
        assert "".join(word for word, _ in pairs) == clause
        assert all(word.endswith(" ") for word, _ in pairs[:-1])
        assert spoken(heard)


def test_each_word_has_its_reading_and_words_read_together_stay_together() -> None:
    assert spoken("Use 2 1/2 cups :) at example.com, e.g. now. ") == [
        ("Use ", "Use "),
        ("2 ", "2 and "),
        ("1/2 ", "1/2 "),
        ("cups ", "cups "),
        (":) ", " "),
        ("at ", "at "),
        ("example.com, ", "example dot com, "),
        ("e.g. ", "for example, "),
        ("now. ", "now. "),
    ]
    assert spoken("Call +44 20 7946 0958 now") == [
        ("Call ", "Call "),
        ("+44 20 7946 0958 ", "plus 4 4, 2 0, 7 9 4 6, 0 9 5 8 "),
        ("now", "now"),
    ]


@pytest.mark.parametrize(
    "clause",
    [
        "I see, that must have been hard. ",
        "Dr. Smith paid $3.50 on May 3rd, 2024, at 3:30. ",
        "Node.js, A/B, AC/DC, and/or 24/7; (a) b: c — d… ",
        "In 1988 there were 1,911 or 911.5 of them at 00:30, 0.5 or 05/03/2024.",
        "Mark Twain, Charles I and Mark IV; III, VIII and XXX. ",
        "5-year-old, COVID-19, B-12, 3rd-party, C++, well-known",
        "He's 5 o'clock, the 1980's, it's I'm. You;) ",
        "So 2x + 3 = 7 and 2024-05-03. ",
        "Shhow, off, all, see, too, www, hmm. ",
    ],
)
def test_what_the_voice_reads_well_is_left_to_it(clause: str) -> None:
    assert said(clause) == clause


@pytest.mark.parametrize(
    "number",
    ["1" * 37, "1" * 4096, "1,000" + ",000" * 15, "$" + "9" * 40, "a1" + "0" * 50, "0" * 60],
)
def test_of_a_number_without_an_end_the_beginning_is_said(number: str) -> None:
    clause = f"It is {number}, or so. "
    assert "".join(word for word, _ in spoken(clause)) == clause
    heard = said(clause)
    assert "and so on, or so." in heard and len(heard) < 80
    assert sounds(heard)


@pytest.mark.parametrize("piece", ["ha-", "ha.", "a1", "1-", "1,000", "ha/", "(a)"])
def test_no_voice_is_given_a_word_without_an_end(piece: str) -> None:
    clause = piece * (600 // len(piece))
    ((written, reading),) = spoken(clause)
    assert written == clause
    assert max(map(len, reading.split())) <= LONGEST
    assert sounds(reading)


@pytest.mark.parametrize("clause", ["", " ", "\n\t"])
def test_nothing_has_no_words(clause: str) -> None:
    assert spoken(clause) == []


@pytest.mark.parametrize(
    "piece",
    ["a", "a-", "1", "1.", "1-", "1 ", "+1 ", "a.", "https://a.", "a@", "x", "(1", "1,", ":)", "!"],
)
def test_no_writing_takes_long_to_read(piece: str) -> None:
    clause = piece * (3000 // len(piece))
    assert "".join(word for word, _ in spoken(clause)) == clause
