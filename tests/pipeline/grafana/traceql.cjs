// Reads a JSON list of TraceQL queries and says of each what Grafana's own grammar makes of it: where it is wrong, which
// attributes it names, and what it compares with which kind of value. Its packages are in the folder of the first argument.
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const { parser } = createRequire(`${process.argv[2]}/`)("@grafana/lezer-traceql");

function read(query) {
  const said = { errors: [], attributes: [], comparisons: [] };
  const text = (node) => query.slice(node.from, node.to).trim();
  parser.parse(query).iterate({
    enter({ node }) {
      if (node.type.isError) said.errors.push(node.from);
      if (["AttributeField", "IntrinsicField"].includes(node.name)) said.attributes.push(text(node));
      const [left, operator, right] = [node.firstChild, node.firstChild?.nextSibling, node.lastChild];
      if (node.name === "FieldExpression" && operator?.name === "FieldOp" && right?.firstChild?.name === "Static") {
        const value = right.firstChild;
        said.comparisons.push([text(left), text(operator), value.firstChild?.name ?? "", text(value)]);
      }
    },
  });
  return said;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
