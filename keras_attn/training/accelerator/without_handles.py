"""TensorFlow functions whose variables are values, not handles."""

import graphlib

import tensorflow as tf

# For each op that calls functions, the attributes that name them.
_CALLS = {
    "PartitionedCall": ["f"],
    "StatefulPartitionedCall": ["f"],
    "If": ["then_branch", "else_branch"],
    "StatelessIf": ["then_branch", "else_branch"],
}
_LOOPS = ("While", "StatelessWhile")
# Ops that change a variable by a tensor, and what gives its new value.
_UPDATES = {"AssignAddVariableOp": "AddV2", "AssignSubVariableOp": "Sub"}


class Functions:
    """A library of functions, which grows by those without handles.

    A variable reaches a function as a handle, which ops read and assign; where
    it is a value, each op sees the one that the last assignment left.

    Args:
        functions: All of them, as `FunctionDef`s.
    """

    def __init__(self, functions):
        self.given = {x.signature.name: x for x in functions}
        self.made = []

    def all(self):
        return [*self.given.values(), *self.made]

    def without_handles(self, name: str, dtypes: list, *, loop: bool = False):
        """Make a function whose handles of variables are values.

        Args:
            name: Of the function.
            dtypes: For each argument the type of its variable, or None.
            loop: Whether it is a loop's body, which returns its arguments, and
                so all handles; others get further results, the new values of
                all their variables.

        Returns:
            The function and the numbers of its arguments that are assigned.
        """
        new = type(self.given[name])()
        new.CopyFrom(self.given[name])
        new.signature.name = f"{name}_of_values_{len(self.made)}"
        self.made.append(new)
        new.arg_attr.clear()
        new.resource_arg_unique_id.clear()
        held = {}
        for argument, dtype in zip(
            new.signature.input_arg, dtypes, strict=True
        ):
            if dtype is not None:
                _set_type(argument, dtype)
                held[argument.name] = dtype

        body = _Body(self, held)
        nodes = [x for node in _in_order(new) for x in body.rewrite(node)]
        del new.node_def[:]
        new.node_def.extend(nodes)
        for key, reference in list(new.ret.items()):
            new.ret[key] = body.resolve(reference)
        if loop:
            for result, dtype in zip(
                new.signature.output_arg, dtypes, strict=True
            ):
                if dtype is not None:
                    _set_type(result, dtype)
        else:
            for name, dtype in held.items():
                key = f"new_value_of_{name}"
                new.signature.output_arg.add(name=key, type=dtype)
                new.ret[key] = body.current[name]
        written = [
            number
            for number, argument in enumerate(new.signature.input_arg)
            if body.current.get(argument.name, argument.name) != argument.name
        ]
        return new, written

    @staticmethod
    def return_only(function, written: list):
        """Return no values of variables but of some arguments."""
        names = [function.signature.input_arg[x].name for x in written]
        kept = []
        for result in function.signature.output_arg:
            variable = result.name.removeprefix("new_value_of_")
            if variable == result.name or variable in names:
                kept.append(result)
            else:
                del function.ret[result.name]
        del function.signature.output_arg[:]
        function.signature.output_arg.extend(kept)


class _Body:
    """The nodes of one function, whose variables change as they go by.

    Args:
        functions: Those that nodes may call.
        dtypes: Type of the variable behind each argument that is one.
    """

    def __init__(self, functions, dtypes):
        self.functions = functions
        self.dtypes = dtypes
        self.current = {name: name for name in dtypes}
        self.handles = {name: name for name in dtypes}
        self.values = {}

    def resolve(self, reference):
        """What stands for an input now: the value, if it is a variable."""
        if reference in self.handles:
            return self.current[self.handles[reference]]
        return self.values.get(reference, reference)

    def rewrite(self, node) -> list:
        """Nodes in place of one, without variables."""
        inputs = [x for x in node.input if not x.startswith("^")]
        after = [x for x in node.input if x.startswith("^")]
        own = [self.handles.get(x) for x in inputs]
        resolved = [self.resolve(x) for x in inputs]
        new = type(node)()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend([*resolved, *after])
        if not any(own):
            return [new]
        if node.op in _LOOPS:
            return [self._loop(new, own)]
        if node.op in _CALLS:
            return [self._call(new, own)]

        variable = own[0]
        nothing = type(node)(name=node.name, op="NoOp", input=after)
        if node.op == "ReadVariableOp":
            self.values[f"{node.name}:value:0"] = resolved[0]
            return [nothing]
        if node.op == "AssignVariableOp":
            self.current[variable] = resolved[1]
            return [nothing]
        if node.op == "Identity":
            self.handles[f"{node.name}:output:0"] = variable
            return [nothing]
        if node.op in _UPDATES:
            self.current[variable] = f"{node.name}:z:0"
            new.op = _UPDATES[node.op]
            new.attr.clear()
            new.attr["T"].type = self.dtypes[variable]
            return [new]
        if node.op == "VariableShape":
            new.op = "Shape"
            new.attr["T"].type = self.dtypes[variable]
            return [new]
        if node.op == "ResourceGather":
            return self._gather(new, variable)
        raise ValueError(
            f"The step uses {node.op!r} on a variable, which cannot be lowered "
            "by the TPU build. Read the variable, and assign its new value."
        )

    def _gather(self, new, variable):
        axis = type(new)(name=f"{new.name}/axis", op="Const")
        axis.attr["dtype"].type = tf.int32.as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0))
        new.op = "GatherV2"
        new.input.insert(2, f"{axis.name}:output:0")
        for key in [x for x in new.attr if x not in ("Tindices", "batch_dims")]:
            del new.attr[key]
        new.attr["Tparams"].type = self.dtypes[variable]
        new.attr["Taxis"].type = tf.int32.as_datatype_enum
        return [axis, new]

    def _loop(self, new, own):
        dtypes = [self.dtypes.get(x) for x in own]
        attributes = new.attr
        body, written = self.functions.without_handles(
            attributes["body"].func.name, dtypes, loop=True
        )
        condition, _ = self.functions.without_handles(
            attributes["cond"].func.name, dtypes
        )
        # It returns whether to go on, and nothing else.
        self.functions.return_only(condition, [])
        attributes["body"].func.name = body.signature.name
        attributes["cond"].func.name = condition.signature.name
        shapes = attributes["output_shapes"].list.shape
        for number, variable in enumerate(own):
            if variable is None:
                continue
            attributes["T"].list.type[number] = dtypes[number]
            if shapes:
                shapes[number].unknown_rank = True
            result = f"{new.name}:output:{number}"
            self.handles[result] = variable
            if number in written:
                self.current[variable] = result
        _forget_handles(new)
        return new

    def _call(self, new, own):
        if "If" in new.op:
            own = own[1:]  # after the condition
        dtypes = [self.dtypes.get(x) for x in own]
        assigned = set()
        for attribute in _CALLS[new.op]:
            function, written = self.functions.without_handles(
                new.attr[attribute].func.name, dtypes
            )
            new.attr[attribute].func.name = function.signature.name
            assigned.update(written)
        results = new.attr["Tout"].list.type
        for number, variable in enumerate(own):
            if variable is None:
                continue
            if number in assigned:
                result = f"{new.name}:output:{len(results)}"
                self.current[variable] = result
            results.append(dtypes[number])
            new.attr["Tin"].list.type[number] = dtypes[number]
        new.attr.pop("output_shapes", None)
        _forget_handles(new)
        return new


def _set_type(argument, dtype):
    argument.type = dtype
    argument.ClearField("handle_data")


def _forget_handles(node):
    for name in ("_read_only_resource_inputs", "_num_original_outputs"):
        if name in node.attr:
            del node.attr[name]


def _in_order(function):
    """Nodes, each after those that it needs or waits for."""
    nodes = {node.name: node for node in function.node_def}
    needs = {
        name: [
            source
            for source in (x.lstrip("^").split(":")[0] for x in node.input)
            if source in nodes
        ]
        for name, node in nodes.items()
    }
    order = graphlib.TopologicalSorter(needs).static_order()
    return [nodes[name] for name in order]
