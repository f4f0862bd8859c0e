"""Models and modes, in both forms that agents have."""

from typing import Any

from channels.agents.acp.choices import read_choice

NEWER = {
    "configOptions": [
        {"id": "mode", "type": "select", "currentValue": "ask", "options": [{"value": "ask", "name": "Ask"}]},
        {
            "id": "llm",
            "category": "model",
            "type": "select",
            "currentValue": "a",
            "options": [
                {"group": "g", "name": "Group", "options": [{"value": "a", "name": "Model A"}]},
                {"value": "b", "name": "Model B"},
            ],
        },
        {"id": "brave", "category": "model", "type": "boolean", "currentValue": True},
    ],
    "modes": {"currentModeId": "old", "availableModes": [{"id": "old", "name": "Old"}]},
}
OLDER = {
    "models": {"currentModelId": "m1", "availableModels": [{"modelId": "m1", "name": "One"}, {"modelId": "m2"}]},
    "modes": {"currentModeId": "code", "availableModes": [{"id": "code", "name": "Code"}]},
}


def test_the_newer_form_opens_groups_and_wins() -> None:
    model, mode = read_choice(NEWER, "model"), read_choice(NEWER, "mode")
    assert model is not None
    assert mode is not None
    assert dict(model.names) == {"a": "Model A", "b": "Model B"}
    assert model.current_name == "Model A"
    assert model.request("s", "b") == {"sessionId": "s", "configId": "llm", "value": "b"}
    assert mode.current == "ask"


def test_the_older_form() -> None:
    model, mode = read_choice(OLDER, "model"), read_choice(OLDER, "mode")
    assert model is not None
    assert mode is not None
    assert (model.method, model.request("s", "m2")) == ("session/set_model", {"sessionId": "s", "modelId": "m2"})
    assert (mode.method, mode.request("s", "x")) == ("session/set_mode", {"sessionId": "s", "modeId": "x"})
    assert model.names["m2"] == "m2"


def test_a_value_is_found_by_itself_and_by_its_name() -> None:
    model = read_choice(NEWER, "model")
    assert model is not None
    assert [model.find(wanted) for wanted in ("b", "model b", "B", "c")] == ["b", "b", "b", None]


def test_nonsense_offers_nothing() -> None:
    nonsense: tuple[dict[str, Any], ...] = (
        {},
        {"configOptions": 3},
        {"configOptions": [None, {"id": "model"}]},
        {"models": []},
    )
    for result in nonsense:
        assert read_choice(result, "model") is None
