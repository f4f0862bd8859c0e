"""Which sentences a language has: `texts("zh")`, `texts("en")`."""

from channels.cards.texts_en import EN
from channels.cards.texts_zh import ZH
from channels.cards.wording import Texts

__all__ = ["Texts", "texts"]


def texts(language: str) -> Texts:
    """The sentences of `language`: Chinese for "zh", "zh-CN", …, English for anything else."""
    return ZH if language.lower().startswith("zh") else EN
