import numpy as np
import pytest

from keras_attn.training.accelerator import stablehlo

KIND = "tensor<2x?xf32>"


@pytest.mark.parametrize(
    "copy",
    [
        f"mhlo.copy %arg0 : {KIND}",
        f'mhlo.copy %arg0 {{mhlo.sharding = ""}} : {KIND}',
        f'"mhlo.copy"(%arg0) : ({KIND}) -> {KIND}',
        f'"mhlo.copy"(%arg0) {{mhlo.sharding = ""}} : ({KIND}) -> {KIND}',
    ],
    ids=[
        "short",
        "short_with_attributes",
        "generic",
        "generic_with_attributes",
    ],
)
def test_a_copy_becomes_a_reshape_to_the_same_shape(copy):
    before, after = "%0 = mhlo.add %a, %b\n%1 = ", "\nreturn %1"
    reshape = f"stablehlo.reshape %arg0 : ({KIND}) -> {KIND}"
    module = stablehlo.without_copies(before + copy + after)
    assert module == before + reshape + after


def constant(digits, kind):
    return f'%c = stablehlo.constant dense<"0x{digits}"> : tensor<{kind}>\n'


def test_packed_booleans_become_a_byte_each(rng):
    # 0x0502: the first, the third and the tenth of eleven.
    packed = constant("0502", "11xi1")
    unpacked = constant("0100010000000000" + "000100", "11xi1")
    rewritten = stablehlo.without_packed_booleans("a\n" + packed + "b")
    assert rewritten == "a\n" + unpacked + "b"

    booleans = rng.integers(2, size=(3, 5, 7), dtype="uint8")
    packed = np.packbits(booleans, bitorder="little").tobytes().hex().upper()
    rewritten = stablehlo.without_packed_booleans(constant(packed, "3x5x7xi1"))
    assert rewritten == constant(booleans.tobytes().hex(), "3x5x7xi1")


@pytest.mark.parametrize(
    "module",
    [
        constant("0502", "2xi8"),
        constant("0502", "16xi16"),
        constant("01000100000000000100", "2x5xi1"),
        "%c = stablehlo.constant dense<true> : tensor<2x5xi1>",
        "%c = stablehlo.constant dense<[true, false]> : tensor<2xi1>",
    ],
    ids=["bytes", "not_booleans", "unpacked", "one_value", "written_out"],
)
def test_other_constants_stay_as_they_are(module):
    assert stablehlo.without_packed_booleans(module) == module


def test_donated_arguments_are_marked_in_main_alone():
    other = "func.func private @other(%arg1: tensor<2xf32>) {\n"
    body = "  %0 = stablehlo.add %arg1, %arg1 : tensor<3xi32>\n"

    def module(mark):
        return (
            f"{other}func.func @main(%arg0: tensor<2xf32> loc(#1), "
            f"%arg1: tensor<3xi32>{mark} loc(#2), "
            f"%arg11: tensor<4xi32> loc(#3)) -> tensor<3xi32> {{\n{body}"
        )

    marked = module(" {jax.buffer_donor = true}")
    assert stablehlo.with_donated(module(""), [1]) == marked
    assert stablehlo.with_donated(module(""), []) == module("")
