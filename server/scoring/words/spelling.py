"""One form for British and American spellings. Both are folded, so it need not be a word."""

import re

_OUR = (
    "arm|ard|behavi|cand|clam|col|demean|endeav|enam|fav|ferv|flav|glam|harb|hon|hum|lab|neighb"
    "|od|parl|ranc|rig|rum|sav|splend|succ|tum|val|vap|vig"
)
_ONE_L = (
    "cancel|channel|counsel|dial|equal|fuel|funnel|initial|jewel|label|level|marvel|model|panel"
    "|pencil|quarrel|rival|shovel|signal|swivel|total|towel|travel|tunnel"
)
_RULES = [
    (re.compile(rf"^{pattern}$"), form)
    for pattern, form in (
        # Four letters before it, so that "raise" and "prise" stay what they are.
        (r"(\w{4,})is(e|ed|es|er|ers|ing|ation|ations|ational)", r"\1iz\2"),
        (r"(anal|paral|catal|hydrol)ys(e|ed|es|er|ers|ing)", r"\1yz\2"),
        (rf"((?:un|dis|mis)?(?:{_OUR})o)ur(\w*)", r"\1r\2"),
        (r"((?:kilo|centi|milli)?(?:calib|cent|fib|lit|lust|meag|met|sab|somb|spect|theat))re(s|d)?",
         r"\1er\2"),
        (rf"({_ONE_L})l(ed|er|ers|ing|ings|ous|ously|or|ors)", r"\1\2"),
        (r"(anal|catal|dial|epil|monol|prol)ogue(s|d)?", r"\1og\2"),
        (r"(def|lic|off|pret)ence(s|less)?", r"\1ense\2"),
        (r"(an|arch|encyclop|gyn|leuk|orthop|p)ae(\w+)|(h)ae(m\w+)", r"\1\3e\2\4"),
    )
]  # fmt: skip
_WORDS = {
    "acknowledgement": "acknowledgment", "aeroplane": "airplane", "ageing": "aging",
    "aluminium": "aluminum", "cheque": "check", "cheques": "checks", "cosy": "cozy",
    "draught": "draft", "enrol": "enroll", "enrolment": "enrollment", "fulfil": "fulfill",
    "foetus": "fetus", "fulfilment": "fulfillment", "grey": "gray", "instalment": "installment",
    "jewellery": "jewelry", "judgement": "judgment", "kerb": "curb", "manoeuvre": "maneuver",
    "manoeuvres": "maneuvers",
    "mould": "mold", "moustache": "mustache", "plough": "plow", "practise": "practice",
    "practised": "practiced", "practising": "practicing", "programme": "program",
    "programmes": "programs", "pyjamas": "pajamas", "sceptic": "skeptic",
    "sceptical": "skeptical", "skilful": "skillful", "storey": "story", "tyre": "tire",
    "tyres": "tires", "wilful": "willful", "woollen": "woolen",
}  # fmt: skip


def one_form(word: str) -> str:
    if word in _WORDS:
        return _WORDS[word]
    for rule, form in _RULES:
        folded, times = rule.subn(form, word)
        if times:
            return folded
    return word
