// How numbers are written, by `numbers.py` and by the scripts of the pages alike: the object is JSON, which both read.

export const FORMS = {
  "missing": "–",
  "digits": 3,
  "most_digits_of_a_difference": 6,
  "p_values": { "least": 0.0001, "digits": [[0.01, 4], [0.995, 3]], "above": "1" },
  "percent_digits": 1,
  "significant_digits": 3,
  "sizes": [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]],
  "seconds": [[0.001, 1e6, "µs"], [1, 1e3, "ms"], [120, 1, "s"], [7200, 0.016666666666666666, "min"]],
  "hours": [0.0002777777777777778, "h"],
  "milliseconds": { "whole_from": 100, "digits": 1 },
  "money": { "signs": { "USD": "$" }, "whole_from": 1, "digits": 2, "significant_digits": 4, "plain_below": 0.0001 }
};
