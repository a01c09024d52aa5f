// An evaluator in Node: the share of the forbidden words that the candidate avoids.
let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => (text += piece));
process.stdin.on("end", () => {
  const payload = JSON.parse(text);
  const forbidden = (payload.example && payload.example.forbidden) || ["obviously", "simply", "just"];
  const words = payload.candidate.toLowerCase().split(/\W+/);
  const found = forbidden.filter((word) => words.includes(word));
  console.log(JSON.stringify({ score: 1 - found.length / forbidden.length, found }));
});
