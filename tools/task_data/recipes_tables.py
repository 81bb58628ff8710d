"""Recipes of the table tasks: package data -> raw rows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd
from sklearn import datasets

from task_data.packages import r_table
from task_data.rows import SEED, Recipe, Rows, divide, take

__all__ = ["TABLES"]


def _breast_cancer() -> Rows:
    data = datasets.load_breast_cancer(as_frame=True)
    return divide(data.data, data.target.to_numpy(), stratified=True)


def _titanic() -> Rows:
    return _classes(r_table("Stat2Data", "Titanic").drop(columns="SexCode"), "Survived", 1)


def _credit_status() -> Rows:
    return _classes(r_table("modeldata", "credit_data"), "Status", "bad")


def _birdstrike_phase() -> Rows:
    phases = ["Approach", "Take-off run", "Climb", "Landing Roll", "Descent", "En Route"]
    birds = r_table("openintro", "birds")
    birds = birds[birds["phase_of_flt"].isin(phases)].sample(5000, random_state=SEED)
    birds = birds.reset_index(drop=True)
    date = pd.to_datetime(birds.pop("date"), format="%m/%d/%Y %H:%M:%S")
    birds["month"], birds["year"] = date.dt.month, date.dt.year
    return _classes(birds.drop(columns=["remarks", "operator"]), "phase_of_flt")


def _diabetes() -> Rows:
    data = datasets.load_diabetes(as_frame=True, scaled=False)
    return divide(data.data, data.target.to_numpy(float), stratified=False)


def _concrete() -> Rows:
    return _values(r_table("modeldata", "concrete").drop_duplicates(), "compressive_strength")


def _diamonds() -> Rows:
    return _values(r_table("ggplot2", "diamonds").sample(5000, random_state=SEED), "price")


def _meats() -> Rows:
    meats = r_table("modeldata", "meats").drop_duplicates().reset_index(drop=True)
    parts = ["water", "fat", "protein"]
    return divide(meats.drop(columns=parts), meats[parts].to_numpy(float), stratified=False)


def _hpc() -> Rows:
    jobs = r_table("modeldata", "hpc_data")
    grade = jobs.pop("class").map({"VF": 0, "F": 1, "M": 2, "L": 3}).to_numpy(int)
    return divide(jobs, grade, stratified=True)


def _cells() -> Rows:
    cells = r_table("modeldata", "cells").round(4).drop(columns="case")
    return _classes(cells, "class", "PS")


def _olive() -> Rows:
    return _classes(r_table("dslabs", "olive").drop(columns="region"), "area")


def _ames() -> Rows:
    return _values(r_table("modeldata", "ames"), "Sale_Price")


def _flight_late() -> Rows:
    flights = r_table("nycflights13", "flights")
    flights = flights[flights["arr_delay"].notna()].sample(6000, random_state=SEED)
    hour = ["origin", "month", "day", "hour"]
    air = ["temp", "humid", "wind_speed", "precip", "visib"]
    weather = r_table("nycflights13", "weather")[hour + air].drop_duplicates(hour)
    flights = flights.merge(weather, on=hour, how="left")
    flights["weekday"] = _dates(flights).dt.day_name().to_numpy()
    late = (flights["arr_delay"] > 15).astype(int).to_numpy()
    when = ["month", "day", "weekday", "sched_dep_time", "sched_arr_time"]
    columns = [*when, "carrier", "origin", "dest", "distance", *air]
    return divide(flights[columns].reset_index(drop=True), late, stratified=True)


def _departures() -> Rows:
    keys = ["origin", "month", "day", "hour"]
    count = r_table("nycflights13", "flights").groupby(keys).size().rename("n").reset_index()
    count = count[(count["hour"] >= 5) & (count["hour"] <= 22)]
    dates = _dates(count)
    count.insert(0, "dayofyear", dates.dt.dayofyear.to_numpy())
    count["weekday"] = dates.dt.day_name().to_numpy()
    count = count.sort_values(["dayofyear", "origin", "hour"]).reset_index(drop=True)
    number = count.pop("n").to_numpy(float)
    early = (count["dayofyear"] <= 300).to_numpy()
    first, last = np.flatnonzero(early), np.flatnonzero(~early)
    return Rows(take(count, first), number[first], take(count, last), number[last])


def _dates(table: pd.DataFrame) -> pd.Series:
    return pd.to_datetime(dict(year=2013, month=table["month"], day=table["day"]))


def _classes(table: pd.DataFrame, column: str, positive: object = None) -> Rows:
    """Labels, or 1 for the positive one; rows without a label are left out."""
    table = table[table[column].notna()].reset_index(drop=True)
    labels = table.pop(column)
    if positive is None:
        return divide(table, labels.astype(str).to_numpy(), stratified=True)
    return divide(table, (labels == positive).astype(int).to_numpy(), stratified=True)


def _values(table: pd.DataFrame, column: str) -> Rows:
    table = table[table[column].notna()].reset_index(drop=True)
    return divide(table, table.pop(column).to_numpy(float), stratified=False)


TABLES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "breast-cancer": _breast_cancer,
        "titanic": _titanic,
        "credit-status": _credit_status,
        "birdstrike-phase": _birdstrike_phase,
        "diabetes": _diabetes,
        "concrete": _concrete,
        "diamonds": _diamonds,
        "meats-nir": _meats,
        "hpc-ordinal": _hpc,
        "cell-segmentation": _cells,
        "olive-area": _olive,
        "ames-price": _ames,
        "flight-late": _flight_late,
        "nyc-departures": _departures,
    }
)
