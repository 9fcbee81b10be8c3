"""Ask a running server over gRPC; needs `pip install tensorflow-serving-api`.

    python export/grpc_client.py --model translator "Good morning."
    python export/grpc_client.py --model translator --signature score \\
        --inputs '{"text": ["Good morning."], "answer": ["Bonjour."]}'
"""

import argparse
import json
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc


def connect(server):
    """Return the stub of the prediction service at `host:port`."""
    unlimited = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ]
    channel = grpc.insecure_channel(server, options=unlimited)
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def input_dtypes(stub, model, signature, timeout=60.0):
    """Ask the server for the dtype of each input of a signature."""
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = model
    request.metadata_field.append("signature_def")
    response = stub.GetModelMetadata(request, timeout=timeout)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    if signature not in signatures.signature_def:
        raise ValueError(
            f"The model has no signature {signature!r}. It has: "
            f"{sorted(signatures.signature_def)}"
        )
    inputs = signatures.signature_def[signature].inputs
    return {name: tf.as_dtype(info.dtype) for name, info in inputs.items()}


def make_request(model, signature, inputs, dtypes):
    """Return the `PredictRequest` for columns by the names of the inputs."""
    if not isinstance(inputs, dict):
        (name,) = dtypes
        inputs = {name: inputs}
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, column in inputs.items():
        proto = tf.make_tensor_proto(column, dtype=dtypes.get(name))
        request.inputs[name].CopyFrom(proto)
    return request


def main(arguments=None):
    """Ask what the command line says, and print the answer as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", nargs="*", help="rows of the only input")
    parser.add_argument("--server", default="localhost:8500")
    parser.add_argument("--model", required=True)
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--inputs", help="JSON: a list for each input's name")
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args(arguments)
    if bool(options.text) == bool(options.inputs):
        parser.error("give texts or --inputs")
    stub = connect(options.server)
    try:
        dtypes = input_dtypes(
            stub, options.model, options.signature, options.timeout
        )
        request = make_request(
            options.model,
            options.signature,
            options.text or json.loads(options.inputs),
            dtypes,
        )
        response = stub.Predict(request, timeout=options.timeout)
    except grpc.RpcError as error:
        sys.exit(f"{options.server}: {error.code().name}: {error.details()}")
    except ValueError as error:
        sys.exit(f"{options.server}: {error}")
    answer = {
        name: tf.make_ndarray(proto).tolist()
        for name, proto in sorted(response.outputs.items())
    }
    # Bytes have no place in JSON; those that are no text show as \udc...
    text = json.dumps(
        answer,
        indent=2,
        ensure_ascii=False,
        default=lambda value: value.decode("utf-8", "surrogateescape"),
    )
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")


if __name__ == "__main__":
    main()
