#!/usr/bin/env python3
"""Compares dyno's scripts with pgbench's.

    compare.py record          writes values.txt, errors.txt, mistakes.txt and threads.txt, which the crate's tests expect
    compare.py fuzz [N [SEED]] runs N random scripts through pgbench and through the example `trace`, and shows differences

`fuzz` needs `cargo build -p dyno-script --example trace` and its program in the variable TRACE.
"""

import os
import random
import subprocess
import sys
import tempfile

import pgbench

HERE = os.path.dirname(os.path.abspath(__file__))
# Scripts, seeds, clients, transactions.
RUNS = [
    ("functions.sql", [0, 42], 1, 1),
    ("draws.sql", [0, 1, 42, 20261121, 18446744073709551615], 1, 8),
    ("draws.sql", [42, 5432], 4, 3),
    ("statements.sql", [42], 2, 2),
    ("conditions.sql", [1, 2, 3, 42], 1, 4),
]


def script(name):
    return os.path.join(HERE, "scripts", name)


def record():
    with open(os.path.join(HERE, "values.txt"), "w") as out:
        out.write("# Recorded by compare.py from pgbench 15.18 on x86-64 Linux with glibc.\n")
        for name, seeds, clients, transactions in RUNS:
            for seed in seeds:
                for protocol in ["simple", "extended"] if name == "statements.sql" else ["simple"]:
                    done = pgbench.run([script(name)], seed, clients, transactions, protocol)
                    assert done.error is None, done.error
                    out.write(f"run {name} {seed} {clients} {transactions} {protocol}\n")
                    for client in range(clients):
                        for shown in done.debugged.get(client, []):
                            out.write(f"{client} debug {shown}\n")
                        for text in done.sent[client]:
                            out.write(f"{client} send {quoted(text)}\n")
    with open(script("errors.txt")) as lines, open(os.path.join(HERE, "errors.txt"), "w") as out:
        out.write("# Recorded by compare.py from pgbench 15.18: a command, and the message it gives.\n")
        for line in lines.read().splitlines():
            error = message(line)
            assert error, line
            out.write(f"{line}\n  {error}\n")
    with open(script("mistakes.txt")) as lines, open(os.path.join(HERE, "mistakes.txt"), "w", newline="") as out:
        out.write("# Recorded by compare.py from pgbench 15.18: a script, and all it says when it must use that. Signs stand for line breaks and tabs.\n")
        for line in lines.read().splitlines():
            out.write(f"{line}\n" + "".join(f"  {said}\n" for said in complaint(line)))
    with open(os.path.join(HERE, "threads.txt"), "w") as out:
        out.write("# Recorded by compare.py from pgbench 15.18: for a seed and a number of clients with a thread each, what every\n")
        out.write("# thread did with scripts of weights 1, 2 and 3, and which of 40 transactions it logged at a sampling rate of 0.4.\n")
        for seed, clients in [(42, 1), (42, 3), (7, 2)]:
            chosen = logged(seed, clients, ["a@1", "b@2", "c@3"], [])
            sampled = logged(seed, clients, ["a"], ["--sampling-rate=0.4"])
            for thread in range(clients):
                scripts = "".join(line[3] for line in chosen[thread])
                numbers = ",".join(line[1] for line in sampled[thread])
                out.write(f"{seed} {clients} {thread} {scripts} {numbers}\n")


def logged(seed, clients, scripts, options):
    """The fields of the lines that every thread logs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in "abc":
            with open(f"{folder}/{name}", "w") as file:
                file.write("\\set x 1\n")
        options = ["-l", "--log-prefix=log", "-j", str(clients), *options]
        done = pgbench.run(scripts, seed, clients, 40, options=options, folder=folder)
        assert done.status == 0, done.error
        # The first thread's file is named log.PID, the others' log.PID.THREAD.
        names = sorted((name for name in os.listdir(folder) if name.startswith("log.")), key=len_then_text)
        threads = []
        for name in names:
            with open(f"{folder}/{name}") as file:
                threads.append([line.split() for line in file])
        return threads


def len_then_text(name):
    return len(name), name


def message(line):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/script", "w") as file:
            file.write(line + "\n")
        return pgbench.run(["script"], 1, folder=folder).error


def complaint(line):
    """What pgbench prints for a script that it refuses or that ends its client, without what is before every message."""
    text = line.replace("¶", "\n").replace("␍", "\r").replace("→", "\t")
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/script", "w", newline="") as file:
            file.write(text)
        protocol = "extended" if "pipeline" in line.lower() else "simple"
        return pgbench.run(["script"], 1, protocol=protocol, folder=folder).said()


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


OPERATORS = "+ - * / % < <= > >= = <> != | & # << >> and or".split()
CONSTANTS = """0 1 2 3 -1 63 64 100 1.5 2.5 0.0 1e3 .5 null true false :i :d :n :t :big :small 9223372036854775807
 -9223372036854775808 4611686018427387904 :client_id :default_seed 1e300 :undefined""".split()
FUNCTIONS = """abs 1,debug 1,pi 0,sqrt 1,ln 1,exp 1,int 1,double 1,random 2,random_gaussian 3,random_exponential 3,
random_zipfian 3,pow 2,power 2,mod 2,hash 1,hash 2,hash_murmur2 2,hash_fnv1a 2,permute 2,permute 3,least 1,least 3,
greatest 2,greatest 4""".replace("\n", "").split(",")


def expression(dice, depth):
    if depth == 0 or dice.random() < 0.15:
        return dice.choice(CONSTANTS)
    inner = lambda: expression(dice, depth - 1)
    kind = dice.randrange(12)
    if kind < 5:
        return f"{inner()} {dice.choice(OPERATORS)} {inner()}"
    if kind == 5:
        return f"({inner()})"
    if kind == 6:
        return dice.choice(["-", "+", "~", "not "]) + " " + inner()
    if kind == 7:
        return inner() + dice.choice([" is null", " is not null", " isnull", " notnull", " is true", " is not false"])
    if kind == 8:
        branches = "".join(f" when {inner()} then {inner()}" for _ in range(dice.randrange(1, 3)))
        return f"case{branches}{dice.choice(['', ' else ' + inner()])} end"
    if kind == 9:
        low, high = sorted(dice.randrange(-100, 10000) for _ in range(2))
        name, parameter = dice.choice([("gaussian", 2.5), ("exponential", 3), ("zipfian", 1.3)])
        return dice.choice([f"random({low}, {high})", f"random_{name}({low}, {high}, {parameter})"])
    name, count = dice.choice(FUNCTIONS).split()
    return f"{name}({', '.join(inner() for _ in range(int(count)))})"


def expressions(dice):
    lines = ["\\set i 7", "\\set d 3.25", "\\set n null", "\\set t true", "\\set big 9223372036854775807"]
    lines.append("\\set small -9223372036854775808")
    lines += [f"\\set x debug({expression(dice, dice.randrange(1, 4))})" for _ in range(6)]
    return "\n".join(lines) + "\n"


WORDS = """' " '' "" $$ $a$ $a$ $b$ $1 $1a /* */ -- \n \n ; ; ; \\; \\: ( ) begin end create function procedure or replace
case e' E' U&' u&" N' b' x' 1e' 1e- 1. .5e select a a1 a$ : :: :a :b :unset :1 + - * / = \\ é 1 12 123a 1.5e5 _ , [ ] { }
\\set\\ b\\ 3\n \\sleep\\ 0\n \\set\\ b\\ 1\\\n+2\n \t \r\n
\\if\\ :a\\ >\\ 3\n \\if\\ 0\n \\elif\\ 1\n \\else\n \\endif\n \\endif\n \\ENDIF \\aset\n \\aset\\ p_ \\shell\\ true\\ :a\n \\if\\ 1+ \\sleep\\ 1x
\\nosuch""".replace("\\ ", "\0").split(" ")
WORDS = [word.replace("\0", " ") for chunk in WORDS for word in ([chunk] if chunk else [])]


CONDITIONS = "1 0 null :i>5 :i :unset debug(:i)>9 random(1,2)=1 1/0 not(:i>7) :d nosuch(1)".split()
LEAVES = """\\set i debug(:i + 1)
\\set i debug(random(1, 20))
select :i;
select ':i', :d
\\sleep 0
\\else
\\elif :i > 3
\\endif
\\startpipeline
\\endpipeline
\\shell true :i ::x
\\setshell i echo :i
select 1 \\; select 2;""".splitlines()


PLACED = [leaf for leaf in LEAVES if not leaf.startswith(("\\e", "\\start"))]
MISPLACED = [leaf for leaf in LEAVES if leaf.startswith(("\\e", "\\start"))]


def block(dice, depth):
    parts = []
    for _ in range(dice.randrange(1, 4)):
        if depth == 0 or dice.random() < 0.5:
            # What is wrong anywhere comes seldom, as it ends the script.
            parts.append(dice.choice(MISPLACED if dice.random() < 0.03 else PLACED))
            continue
        for number in range(dice.randrange(1, 4)):
            condition = dice.choice(CONDITIONS if dice.random() < 0.2 else ["1", "0", ":i>5", "debug(:i)>9", "random(1,2)=1"])
            parts.append(f"\\{'elif' if number else 'if'} {condition}\n{block(dice, depth - 1)}")
        if dice.random() < 0.5:
            parts.append(f"\\else\n{block(dice, depth - 1)}")
        parts.append("\\endif")
    return "\n".join(parts)


def control(dice):
    return "\\set i 7\n\\set d 3.25\n" + block(dice, 3) + "\n"


def soup(dice):
    words = [dice.choice(WORDS) + dice.choice(["", "", " "]) for _ in range(dice.randrange(1, 40))]
    # pgbench reads beyond the end of a statement that ends with a variable or a colon.
    return "\\set a 5\n" + "".join(word + " " if ":" in word else word for word in words) + " "


def fuzz(count, seed):
    dice = random.Random(seed)
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            text = dice.choice([expressions, soup, control])(dice)
            with open(f"{folder}/script", "w", newline="") as file:
                file.write(text)
            protocol = dice.choice(["simple", "extended"])
            theirs = pgbench.run(["script"], number, protocol=protocol, folder=folder)
            command = [os.environ["TRACE"], "script", str(number), "1", "1", protocol.replace("extended", "prepared")]
            ours = subprocess.run(command, capture_output=True, cwd=folder)
            lines = ours.stdout.decode().splitlines()
            said = [line for line in ours.stderr.decode().split("\n") if line]
            if "abs(" in text and said[:1] == ["cannot coerce boolean to double"]:
                continue  # pgbench reads a boolean's bytes as a double.
            wanted = [f"0 {line}" for line in theirs.stderr.split("\n") if line.startswith("debug(")]
            wanted += [f"0 send {quoted(sent)}" for queries in theirs.sent for sent in queries]
            got = [line for kind in ["debug", "send"] for line in lines if line.startswith(f"0 {kind}")]
            if wanted != got or said != theirs.said():
                different += 1
                print("--- script", number, protocol)
                print(text)
                print("pgbench:", theirs.status, wanted, theirs.said())
                print("dyno:   ", got, said)
    print(f"{different} of {count} scripts differ")
    return different


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record"]:
            record()
        case ["fuzz", *numbers]:
            count, seed = [int(number) for number in numbers + ["200", "1"][len(numbers) :]]
            sys.exit(fuzz(count, seed) > 0)
        case _:
            sys.exit(__doc__)
