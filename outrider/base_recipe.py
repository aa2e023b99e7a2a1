"""What decides a base's weights: the options of `outrider base train`, as its card has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides the weights, and so belongs on the card.

    Attributes:
        apps: the suites whose templates are demonstrated: an app's own, or another.
        size: of the network, by name.
        demos: oracle episodes of each template.
        chunk: of these, how many are played before the network learns from them.
        window: of these, how many are kept to learn from; the oldest go as new ones come.
        noise: probability that a demonstrated step is random; what the oracle would have done
            instead is what is learnt.
        pseudo_words: share of the names in demonstrated tasks that are words nobody knows.
        focus: how much more often templates that fail are drawn (see `CourseSettings`).
        check_every: updates between two checks on validation tasks; 0 for none.
        check_n: validation tasks of each template in a check.
        patience: checks without a better one that end it, and the best checked weights are what
            comes of it; 0 learns to the end.
    """

    apps: tuple[str, ...]
    size: str
    demos: int
    chunk: int
    window: int
    noise: float
    pseudo_words: float
    updates: int
    batch: int
    learning_rate: float
    dropout: float
    focus: float
    check_every: int
    check_n: int
    patience: int
    seed: int

    @property
    def chunks(self) -> int:
        """Parts of the stream of demonstrations."""
        return -(-self.demos // self.chunk)

    @property
    def window_chunks(self) -> int:
        """Parts of the stream that are kept."""
        return max(1, self.window // self.chunk)

    def demos_of(self, chunk: int) -> range:
        """The numbers of a chunk's demonstrations of each template, from 0."""
        return range(chunk * self.chunk, min((chunk + 1) * self.chunk, self.demos))

    def command(self) -> str:
        """The command that makes the same weights again, given the same budget of time."""
        early = f"--patience {self.patience}" if self.patience else "--no-early-stop"
        return (
            f"outrider base train --out DIR --apps {','.join(self.apps)} --size {self.size}"
            f" --demos {self.demos} --chunk {self.chunk} --window {self.window}"
            f" --noise {self.noise:g} --pseudo-words {self.pseudo_words:g}"
            f" --updates {self.updates} --batch {self.batch}"
            f" --learning-rate {self.learning_rate:g} --dropout {self.dropout:g}"
            f" --focus {self.focus:g} --check-every {self.check_every} --check-n {self.check_n}"
            f" {early} --seed {self.seed}"
        )
