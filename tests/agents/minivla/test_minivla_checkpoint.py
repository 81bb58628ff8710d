"""Checkpoints in prismatic's layout: every key consumed, none left over, and back again."""

from pathlib import Path
from typing import Any

import pytest
import torch
from testing_minivla import ROWS, SMALL, byte_tokenizer, small_model, small_network, write_run

from wmrl_envs.agents.policies.vla.minivla.architecture import PUBLISHED
from wmrl_envs.agents.policies.vla.minivla.checkpoint import CheckpointError, find_checkpoint
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA
from wmrl_envs.agents.policies.vla.minivla.network import PARTS, MiniVLANetwork

pytestmark = pytest.mark.model


def stored(run: Path) -> dict[str, dict[str, torch.Tensor]]:
    content: Any = torch.load(find_checkpoint(run), weights_only=True)
    return dict(content["model"])


def rewrite(run: Path, state: Any) -> None:
    torch.save({"model": state}, find_checkpoint(run))


def load(run: Path) -> MiniVLA:
    return MiniVLA.from_pretrained(run, tokenizer=byte_tokenizer(), architecture=SMALL)


def assert_equal_states(first: Any, second: Any) -> None:
    assert set(first) == set(second) == set(PARTS)
    for part in PARTS:
        assert list(first[part]) == list(second[part])
        assert all(torch.equal(first[part][key], second[part][key]) for key in first[part])


def test_every_weight_of_the_file_arrives_in_the_network(tmp_path: Path) -> None:
    written = write_run(tmp_path / "run")
    network = load(tmp_path / "run").network
    wanted = dict(written.named_parameters())
    found = dict(network.named_parameters())
    assert set(wanted) == set(found)
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)


def test_a_saved_run_is_bit_equal_to_the_one_it_was_loaded_from(tmp_path: Path) -> None:
    model = small_model(tmp_path / "first")
    path = model.save_pretrained(tmp_path / "second", step=120, epoch=2, loss=0.5)
    assert path.name == find_checkpoint(tmp_path / "first").name
    assert_equal_states(stored(tmp_path / "first"), stored(tmp_path / "second"))


def test_a_saved_run_needs_no_further_arguments(tmp_path: Path) -> None:
    model = small_model(tmp_path / "first", image_key="front", crop=True)
    model.save_pretrained(tmp_path / "second")
    again = MiniVLA.from_pretrained(tmp_path / "second")
    assert (again.image_key, again.crop, again.unnorm_key) == ("front", True, "libero_90")
    assert len(again.tokenizer) == len(model.tokenizer)
    assert again.network.architecture == SMALL


@pytest.mark.parametrize("part", PARTS)
def test_missing_and_left_over_keys_are_all_named(tmp_path: Path, part: str) -> None:
    write_run(tmp_path / "run")
    state = stored(tmp_path / "run")
    names = [key for key in state[part] if "embed_tokens" not in key and "lm_head" not in key]
    for name in (names[0], names[-1]):
        state[part][name + "_else"] = state[part].pop(name)
    rewrite(tmp_path / "run", state)
    with pytest.raises(CheckpointError) as error:
        load(tmp_path / "run")
    for name in (names[0], names[-1]):
        assert f"missing: {part}.{name}\n" in f"{error.value}\n"
        assert f"left over: {part}.{name}_else\n" in f"{error.value}\n"


def test_a_weight_of_another_shape_is_named_with_both_shapes(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    state = stored(tmp_path / "run")
    state["projector"]["projector.4.bias"] = torch.zeros(17)
    rewrite(tmp_path / "run", state)
    with pytest.raises(
        CheckpointError, match=r"projector.4.bias has shape \(17,\), expected \(16,\)"
    ):
        load(tmp_path / "run")


def test_a_checkpoint_without_a_part_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    state = stored(tmp_path / "run")
    del state["vision_backbone"]
    rewrite(tmp_path / "run", state)
    with pytest.raises(CheckpointError, match=r"missing: \['vision_backbone'\], left over: \[\]"):
        load(tmp_path / "run")


def test_a_language_model_without_its_embedding_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    state = stored(tmp_path / "run")
    del state["llm_backbone"]["llm.model.embed_tokens.weight"]
    rewrite(tmp_path / "run", state)
    with pytest.raises(CheckpointError, match="lacks llm_backbone keys.*embed_tokens"):
        load(tmp_path / "run")


def test_a_file_without_a_model_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    torch.save([1], find_checkpoint(tmp_path / "run"))
    with pytest.raises(CheckpointError, match='must hold a dictionary "model"'):
        load(tmp_path / "run")


def test_an_output_layer_of_its_own_stays_of_its_own(tmp_path: Path) -> None:
    network = small_network(tied=False)
    write_run(tmp_path / "untied", network)
    write_run(tmp_path / "tied")
    untied, tied = load(tmp_path / "untied").network.llm, load(tmp_path / "tied").network.llm
    assert torch.equal(untied.lm_head.weight, network.llm.lm_head.weight)
    assert not torch.equal(untied.lm_head.weight, untied.model.embed_tokens.weight)
    assert tied.lm_head.weight is tied.model.embed_tokens.weight


def test_the_last_step_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    write_run(tmp_path)
    older = tmp_path / "checkpoints" / "step-000030-epoch-00-loss=1.2500.pt"
    older.touch()
    (tmp_path / "checkpoints" / "latest-checkpoint.pt").touch()
    assert find_checkpoint(tmp_path).name.startswith("step-000120")
    assert find_checkpoint(tmp_path, 30) == older
    with pytest.raises(FileNotFoundError, match=r"step must be one of \[30, 120\], got 31"):
        find_checkpoint(tmp_path, 31)


def test_a_run_without_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoints/step"):
        find_checkpoint(tmp_path)


def test_an_embedding_for_another_tokenizer_is_refused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    write_run(tmp_path / "run", MiniVLANetwork(SMALL, ROWS + 64))
    with pytest.raises(
        CheckpointError, match="515 tokens has 576 rows .* the checkpoint's has 640"
    ):
        load(tmp_path / "run")


def test_the_published_network_has_the_published_shapes() -> None:
    with torch.device("meta"):
        network = MiniVLANetwork(PUBLISHED, 151936)
    shapes = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    assert shapes["projector.projector.0.weight"] == (8704, 2176)
    assert shapes["projector.projector.4.weight"] == (896, 896)
    assert shapes["vision_backbone.dino_featurizer.reg_token"] == (1, 4, 1024)
    assert shapes["vision_backbone.dino_featurizer.pos_embed"] == (1, 256, 1024)
    assert shapes["vision_backbone.siglip_featurizer.blocks.26.mlp.fc1.weight"] == (4304, 1152)
    assert shapes["vision_backbone.siglip_featurizer.attn_pool.kv.weight"] == (2304, 1152)
    assert shapes["llm_backbone.llm.model.layers.23.self_attn.k_proj.weight"] == (128, 896)
    assert shapes["llm_backbone.llm.lm_head.weight"] == (151936, 896)
    counts = {part: sum(p.numel() for p in getattr(network, part).parameters()) for part in PARTS}
    assert counts == {
        "vision_backbone": 730_911_680,
        "projector": 27_552_000,
        "llm_backbone": 494_032_768,
    }
