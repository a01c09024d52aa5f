// An evaluator in Node: how many of the forbidden words the candidate keeps out.
const payload = JSON.parse(require("fs").readFileSync(0, "utf8"));
const forbidden = (payload.example && payload.example.forbidden) || ["obviously", "simply", "just"];
const words = payload.candidate.toLowerCase().split(/\W+/);
const found = forbidden.filter((word) => words.includes(word));
console.log(JSON.stringify({ score: 1 - found.length / forbidden.length, found }));
