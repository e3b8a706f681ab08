"""Rules of error messages that can be checked on their templates: `<where>: <what is wrong>. <what to do>`.

The rules hold for errors that users can act on (exit code 1), and for whole messages: not for the words that another
function completes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from support.error_messages import Message
from support.message_tails import ANY, TAILS

_VERBS = (
    "add ask attach begin build call change check choose close compile convert copy correct create download "
    "end export flash get give hold install join keep leave limit list load look lower make mount move name open pass "
    "plug poll put quantise raise read record remove rename repair repeat replace report reset reshape restart restore "
    "return run save say see send set shorten start state take try turn unlock update use wait write"
)
#: The end of a message: a sentence or clause that begins with a verb, a question, or a page or command that helps.
_INSTRUCTION = re.compile(
    r"`aboard |docs/|is a bug of|To get it: |\?$"
    rf"|(?:[.;:,}}] |^)(?:(?:for|in|then)\b[^.]*[,:] )?(?:{_VERBS.replace(' ', '|')})\b[^.]*(?:\.\S[^.]*)*\.?$",
    re.IGNORECASE,
)
_LAST_PLACEHOLDER = re.compile(r"\{(\w+)\}$")
#: Errors of the compiler's own checks: nobody but its authors can do anything.
_INTERNAL = ("VerifyError",)


def _same_fact_twice(text: str) -> bool:
    before, got, after = text.partition(", got ")
    value = re.match(r"-{0,2}\{(\w+)\}", after)
    return bool(got and value and value.group() in before.partition(": ")[0])


def says_what_to_do(file: str, text: str) -> bool:
    """True if a text ends with an instruction, or with a placeholder whose texts are declared to (`message_tails`)."""
    last = _LAST_PLACEHOLDER.search(text)
    is_declared = last is not None and bool({(file, last[1]), (ANY, last[1])} & TAILS.keys())
    return is_declared or _INSTRUCTION.search(text) is not None


#: What breaks a rule, by the name of the rule.
RULES: Mapping[str, Callable[[str], bool]] = {
    "says got twice": lambda text: len(re.findall(r"\bgot\b(?!\})", text)) > 1,
    "says the same fact twice": _same_fact_twice,
    "what ... of it": lambda text: re.search(r"\bwhat\b.*\bof it\b", text) is not None,
    "is there no": lambda text: re.search(r"\bis there no\b", text) is not None,
    "not known, for unknown": lambda text: re.search(r"\bnot known\b", text) is not None,
    "is no, for is not a": lambda text: re.search(r"\bis no (?!bug)", text) is not None,
}


def broken(messages: Iterable[Message]) -> list[str]:
    """Returns a line for each rule that a message breaks: the rule, the file and the message."""
    return [
        f"{rule} | {message.file} | {message.text}"
        for message in messages
        if message.exit_code == 1 and message.kind not in _INTERNAL and not message.wrapper
        if re.sub(r"\{\w+\}|\W", "", message.text)
        for rule in _broken_rules(message)
    ]


def _broken_rules(message: Message) -> Iterator[str]:
    if not says_what_to_do(message.file, message.text):
        yield "does not say what to do"
    yield from (rule for rule, breaks in RULES.items() if breaks(message.text))
