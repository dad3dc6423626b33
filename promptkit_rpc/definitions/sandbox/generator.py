"""Compiles templates to code that pays for what it does, and that does nothing beforehand."""

from typing import Any

from jinja2 import nodes as syntax
from jinja2.compiler import CodeGenerator, Frame


class Generator(CodeGenerator):
    """Writes code in which every body pays for its expressions, and nothing is done beforehand."""

    def write_commons(self) -> None:
        """What every function of a template starts with."""
        super().write_commons()
        self.writeline("cond_expr_undefined = environment.no_else")

    def blockvisit(self, nodes: Any, frame: Frame) -> None:
        """A body of statements, which pays for one turn."""
        self.writeline(f"environment.step({_weight(nodes)})")
        super().blockvisit(nodes, frame)

    def visit_For(self, node: syntax.For, frame: Frame) -> None:  # noqa: N802 - named by its node
        """A loop, where a condition is paid for at each item too."""
        if node.test is not None:
            step = syntax.Call(syntax.EnvironmentAttribute("step"), [], [], None, None)
            node.test = syntax.And(step, node.test).set_lineno(node.test.lineno)
        super().visit_For(node, frame)

    def visit_Compare(self, node: syntax.Compare, frame: Frame) -> None:  # noqa: N802
        """Comparisons, each through the environment."""
        if len(node.ops) == 1:
            self.write(f"environment.compare({node.ops[0].op!r}, ")
            self.visit(node.expr, frame)
            self.write(", ")
            self.visit(node.ops[0].expr, frame)
        else:
            self.write("environment.compare_chain(")
            self.visit(node.expr, frame)
            for operand in node.ops:
                self.write(f", ({operand.op!r}, lambda: ")
                self.visit(operand.expr, frame)
                self.write(")")
        self.write(")")

    def visit_Concat(self, node: syntax.Concat, frame: Frame) -> None:  # noqa: N802
        """`a ~ b`."""
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Dict(self, node: syntax.Dict, frame: Frame) -> None:  # noqa: N802
        """A mapping, whose keys are hashed."""
        self.write("{")
        for item in node.items:
            self.write("environment.key(")
            self.visit(item.key, frame)
            self.write("): ")
            self.visit(item.value, frame)
            self.write(", ")
        self.write("}")

    def visit_Getitem(self, node: syntax.Getitem, frame: Frame) -> None:  # noqa: N802
        """A lookup, or a slice, which the library would leave to Python."""
        if not isinstance(node.arg, syntax.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("environment.cut(")
        self.visit(node.node, frame)
        for part in (node.arg.start, node.arg.stop, node.arg.step):
            self.write(", ")
            if part is None:
                self.write("None")
            else:
                self.visit(part, frame)
        self.write(")")

    def _output_child_to_const(self, node: syntax.Expr, frame: Frame, finalize: Any) -> str:
        # A constant expression is worth no less than another: 'a' * 10**9 is made when it is paid.
        if not isinstance(node, syntax.TemplateData):
            raise syntax.Impossible
        return super()._output_child_to_const(node, frame, finalize)


def _weight(body: Any) -> int:
    """Expressions that run when a body runs; those in bodies inside pay for themselves."""
    waiting: list[syntax.Node] = list(body)
    weight = 1
    while waiting:
        node = waiting.pop()
        weight += 1
        waiting.extend(node.iter_child_nodes(exclude=("body", "else_")))
    return weight
