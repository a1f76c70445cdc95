"""The script for engines that an app embeds: strings in, strings out; a charge is stored before a draw is made."""

import json

import pytest
from tests.device.engines import DEVICE, ENGINES
from tests.device.test_node import built  # noqa: F401
from tests.device.test_package import bundle

DRIVER = """
const random = (seed) => { const signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const next = () => signs[(seed = (seed * 48271) % 2147483647) % 64];
  return Array.from({ length: 256 }, next).join(""); };
const window = JSON.stringify(Array.from({ length: 12 }, (_, at) => Math.sin(at)));
const refused = async (act) => { try { await act(); return "taken"; } catch (error) { return String(error); } };
(async () => {
  const { deeprotect } = globalThis;
  print(await refused(() => deeprotect.open(PROTECTOR, "0".repeat(64), "", random(1))));
  print(await refused(() => deeprotect.open(PROTECTOR, DIGEST, "", "")));
  print(deeprotect.open(PROTECTOR, DIGEST, CHARGES, random(1)));
  print(await refused(() => deeprotect.draw(random(2))));
  for (let slot = 0; slot < 3; slot += 1) {
    print(await deeprotect.push(String(slot), window, "60000", random(3 + slot)));
    print(await deeprotect.draw(random(9 + slot)));
  }
  print(await deeprotect.push("3", window, "60000", random(20)));
  print(await deeprotect.push("4", "null", "60000", random(21)));
  print(await deeprotect.push("5", "[1,2,null,4,5,6,7,8,9,10,11,12]", "60000", random(22)));
  print(await deeprotect.push("6", window, "60000", random(23)));
  print(await refused(() => deeprotect.draw("")));
})();
"""


@pytest.mark.parametrize("name", ["node", "JavaScriptCore", "QuickJS"])
def test_an_app_hosts_the_script_by_texts_alone(name, built, tmp_path):  # noqa: F811
    given, before = bundle(), {"minutes": [[1, 5, 10.0]], "before": {"draws": 0, "epsilon": 0}}
    values = {"PROTECTOR": given["protector"], "DIGEST": given["digest"], "CHARGES": json.dumps(before)}
    head = "".join(f"globalThis.{key} = {json.dumps(value)};\n" for key, value in values.items())
    script = (DEVICE / "out" / "files" / "device" / "deeprotect.js").read_text()
    (tmp_path / "hosted.js").write_text(f"{head}{script}\n{DRIVER}")
    other, without, opened, early, *steps, unstored, missing, partly, last, short = (
        ENGINES[name].run(tmp_path / "hosted.js").splitlines()
    )
    assert "BundleError" in other
    assert "random bytes" in without
    assert json.loads(opened)["window"] == 4
    assert "no draw is waiting" in early
    for number, (charged, drawn) in enumerate(zip(steps[::2], steps[1::2], strict=True), start=1):
        assert json.loads(charged)["charges"]["minutes"] == [[1, 5 + number, 10.0 + 2 * number]]
        assert len(json.loads(drawn)["released"]) == 12
        assert json.loads(drawn)["state"] == "live"
    for placeholder in map(json.loads, (missing, partly)):
        assert len(placeholder["released"]) == 12
        assert placeholder["state"] == "placeholder"
    # The charge that the host never stored counts; the draw itself is not made any more.
    assert [json.loads(each)["charges"]["minutes"] for each in (unstored, last)] == [[[1, 9, 18.0]], [[1, 10, 20.0]]]
    assert "random bytes" in short
