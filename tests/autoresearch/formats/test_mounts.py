"""What programs see of a task: the public folder where it lies, and never the answers."""

from pathlib import Path

import pytest
import testing_formats as formats
from PIL import Image

from wmrl_envs.autoresearch import load_task
from wmrl_envs.errors import TaskFormatError

LABELS = formats.csv_text("id,target", ((i, i % 2) for i in range(20)))


def write_images(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("L", (6, 4)).save(folder / f"{number}.png")
    return folder


def test_a_linked_folder_is_mounted_where_the_link_leads(tmp_path: Path) -> None:
    raw = write_images(tmp_path / "raw" / "train", 3)
    folder = formats.write_dojo(tmp_path)
    public = folder / "data" / "public"
    (public / "train").symlink_to("../../images/train")
    (folder / "images").mkdir()
    (folder / "images" / "train").symlink_to(raw)
    mounts = load_task(folder, metric="accuracy").mounts
    assert mounts == {str(public): "/data", str(raw): "/images/train"}


@pytest.mark.parametrize("goal", ["data/private", "data", "data/private/test_answer.csv"])
def test_a_link_to_the_answers_is_refused(tmp_path: Path, goal: str) -> None:
    folder = formats.write_dojo(tmp_path)
    (folder / "data" / "public" / "more").symlink_to(folder / goal)
    with pytest.raises(TaskFormatError, match="programs must not see it, as .* holds the answers"):
        load_task(folder, metric="accuracy")


def test_a_linked_file_is_told(tmp_path: Path) -> None:
    folder = formats.write_dojo(tmp_path)
    (tmp_path / "big.bin").write_bytes(b"x")
    (folder / "data" / "public" / "big.bin").symlink_to(tmp_path / "big.bin")
    with pytest.warns(UserWarning, match="big.bin leads to a file outside"):
        load_task(folder, metric="accuracy")


def test_further_folders_are_mounted_where_the_user_says(tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", 1)
    folder = formats.write_dojo(tmp_path)
    task = load_task(folder, metric="accuracy", data={images: "/images"})
    assert task.mounts[str(images)] == "/images"


@pytest.mark.parametrize(
    ("what", "place", "message"),
    [
        ("images", "images", "must map to absolute places"),
        ("images", "/usr/images", "must map to absolute places"),
        ("nothing", "/images", "the folder does not exist"),
        ("toy/data/private", "/images", "programs must not see it"),
        (".", "/images", "programs must not see it"),
    ],
)
def test_folders_that_cannot_be_mounted_are_named(
    tmp_path: Path, what: str, place: str, message: str
) -> None:
    write_images(tmp_path / "images", 1)
    folder = formats.write_dojo(tmp_path)
    with pytest.raises(TaskFormatError, match=message):
        load_task(folder, metric="accuracy", data={tmp_path / what: place})


def test_the_card_of_an_image_folder_counts_images_and_pixels(tmp_path: Path) -> None:
    folder = formats.write_dojo(tmp_path)
    write_images(folder / "data" / "public" / "train", 20)
    write_images(folder / "data" / "public" / "test", 8)
    task = load_task(folder, metric="accuracy")
    assert task.modality == "image"
    assert task.card().splitlines()[1] == "rows 20 num 24 cat 0 missing no scale even"
    assert "20 files (20 .png)" in task.overview()
    assert "6 x 4 L (5)" in task.overview()


def test_long_texts_make_a_text_task(tmp_path: Path) -> None:
    rows = ((i, "a long and winding sentence, quoted " * 2, i % 2) for i in range(9))
    train = "id,text,target\n" + "".join(f'{i},"{text}",{t}\n' for i, text, t in rows)
    folder = formats.write_dojo(tmp_path, data__public__train_csv=train)
    assert load_task(folder, metric="accuracy").modality == "text"
    assert load_task(folder, metric="accuracy", modality="tabular").modality == "tabular"
