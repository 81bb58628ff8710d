"""What a MiniVLA is shown and told, against values made by hand."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from testing_minivla import byte_tokenizer

from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA
from wmrl_envs.agents.policies.vla.minivla.prompts import embedding_rows, extended, qwen_prompt
from wmrl_envs.agents.policies.vla.pretrained.images import prepared
from wmrl_envs.libero.cameras import oriented

pytestmark = pytest.mark.model


def test_a_picture_of_the_right_size_is_left_alone(pictures: NDArray[np.uint8]) -> None:
    assert np.array_equal(prepared(pictures[0], 64), pictures[0])


def test_an_upright_picture_is_the_vertical_flip_of_the_renderers() -> None:
    raw = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    assert np.array_equal(prepared(oriented(raw, "upright")[:, :2], 2), np.flipud(raw)[:, :2])


def test_shrinking_is_lanczos_over_three_lobes() -> None:
    row = np.array([0, 0, 0, 0, 0, 255, 255, 255, 40, 90, 200, 10], np.uint8)
    picture = np.repeat(np.tile(row, (12, 1))[..., None], 3, axis=2)
    places = np.arange(12) + 0.5
    distances = (places[None] - 2 * (np.arange(6)[:, None] + 0.5)) / 2
    weights = np.sinc(distances) * np.sinc(distances / 3) * (np.abs(distances) < 3)
    expected = np.clip(weights @ row / weights.sum(axis=1), 0, 255)
    # Pillow rounds in between: to one level.
    assert np.abs(prepared(picture, 6)[3, :, 0] - expected).max() <= 1


def test_the_crop_keeps_the_middle_nine_tenths_of_the_area() -> None:
    picture = np.full((224, 224, 3), 200, np.uint8)
    picture[:6], picture[-6:], picture[:, :6], picture[:, -6:] = 0, 0, 0, 0
    assert np.array_equal(prepared(picture, 224, crop=True), np.full((224, 224, 3), 200))
    picture[6] = 0
    assert (prepared(picture, 224, crop=True)[0] < 200).all()


@pytest.mark.parametrize(
    "picture", [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 3), np.float32), np.zeros((8, 8, 4))]
)
def test_other_arrays_are_no_pictures(picture: Any) -> None:
    with pytest.raises(ValueError, match=r"image must be \(H, W, 3\), uint8, got shape"):
        prepared(picture, 8)


def test_each_tower_gets_the_pixels_in_its_own_units(model: MiniVLA) -> None:
    seen: dict[str, torch.Tensor] = {}
    backbone = model.network.vision_backbone
    hooks = [
        getattr(backbone, f"{name}_featurizer").register_forward_pre_hook(
            lambda module, inputs, name=name: seen.update({name: inputs[0]})
        )
        for name in ("dino", "siglip")
    ]
    image = np.zeros((28, 28, 3), np.uint8)
    image[0, 1] = (255, 0, 51)
    model.network.embed(torch.from_numpy(image)[None], [(1, 2)])
    for hook in hooks:
        hook.remove()
    expected = [(1 - 0.485) / 0.229, (0 - 0.456) / 0.224, (0.2 - 0.406) / 0.225]
    assert seen["dino"][0, :, 0, 1].tolist() == pytest.approx(expected, rel=1e-6)
    assert seen["siglip"][0, :, 0, 1].tolist() == pytest.approx([1, -1, -0.6], rel=1e-6)
    assert seen["siglip"][0, :, 1, 0].tolist() == [-1, -1, -1]


def test_the_prompt_is_qwens_chat_around_openvlas_question() -> None:
    assert qwen_prompt("Put the BOWL away") == (
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant."
        "<|im_end|>\n<|im_start|>user\nWhat action should the robot take to put the bowl away?"
        "<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_prompt_begins_with_one_token_for_the_mark(model: MiniVLA, pictures: Any) -> None:
    prompt = model.encode({"task": "Go", "agentview_image": pictures[0]}).prompt
    marks = model.tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert prompt[0] == marks[0]
    assert [token for token in prompt if token in marks] == [*marks, *marks, marks[0]]


def test_extra_tokens_come_last_and_are_added_once() -> None:
    tokenizer = byte_tokenizer()
    more = extended(tokenizer)
    assert (len(tokenizer), len(more)) == (259, 515)
    assert more.convert_tokens_to_ids(["<|extra_0|>", "<|extra_255|>"]) == [259, 514]
    assert len(extended(more)) == 515


def test_some_of_the_extra_tokens_are_too_few() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["<|extra_3|>"])
    with pytest.raises(ValueError, match=r"know all 256 tokens <\|extra_i\|> or none, got 1"):
        extended(tokenizer)


@pytest.mark.parametrize(("length", "rows"), [(151921, 151936), (151665, 151680), (128, 128)])
def test_embedding_rows_are_a_multiple_of_64(length: int, rows: int) -> None:
    assert embedding_rows(range(length)) == rows
