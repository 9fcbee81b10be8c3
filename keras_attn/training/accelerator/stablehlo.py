"""StableHLO as TensorFlow writes it, made readable for jax."""

import math
import re


def without_copies(module: str) -> str:
    """Write `mhlo.copy`, which only TensorFlow knows, as a reshape to itself.

    It stands in a module as `mhlo.copy %1 : tensor<2xf32>`, or in the generic
    form `"mhlo.copy"(%1) : (tensor<2xf32>) -> tensor<2xf32>`, either with
    attributes in braces.
    """
    value, attributes = r"(%[\w#]+)", r"(?: \{[^}]*\})?"
    kind = r"(tensor<[^>]*>)"
    module = re.sub(
        rf'"mhlo\.copy"\({value}\){attributes} : \({kind}\) -> {kind}',
        r"stablehlo.reshape \1 : (\2) -> \3",
        module,
    )
    return re.sub(
        rf"mhlo\.copy {value}{attributes} : {kind}",
        r"stablehlo.reshape \1 : (\2) -> \2",
        module,
    )


def without_packed_booleans(module: str) -> str:
    """Write constant booleans one byte each, as jax's parser reads them.

    TensorFlow writes many of them as `dense<"0x05"> : tensor<2x4xi1>`, eight
    in a byte, the least significant bit first.
    """

    def one_byte_each(constant):
        digits, shape = constant.groups()
        size = math.prod(map(int, re.findall(r"\d+", shape)))
        packed = bytes.fromhex(digits)
        if len(packed) != (size + 7) // 8:
            return constant[0]
        bits = "".join(f"{byte:08b}"[::-1] for byte in packed)[:size]
        unpacked = bits.replace("0", "00").replace("1", "01")
        return f'dense<"0x{unpacked}"> : tensor<{shape}i1>'

    return re.sub(
        r'dense<"0x([0-9A-Fa-f]+)"> : tensor<((?:\d+x)*)i1>',
        one_byte_each,
        module,
    )


def with_donated(module: str, numbers) -> str:
    """Let the compiler write results over some arguments of the module.

    Args:
        module: StableHLO, as text.
        numbers: Which of the arguments of its function `main`.
    """
    before, main, after = module.partition("func.func @main(")
    signature, end, body = after.partition("\n")
    for number in numbers:
        signature = re.sub(
            rf"%arg{number}: tensor<[^>]*>",
            r"\g<0> {jax.buffer_donor = true}",
            signature,
        )
    return before + main + signature + end + body
