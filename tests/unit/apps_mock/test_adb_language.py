"""The shell's language and its text tools, as clients use them; texts are those of Android's."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from apps_mock.phone import MockPhone
from apps_mock.process_shell import ProcessShell
from sync.clock import ManualClock
from tests.conftest import require


@pytest.fixture(scope="module")
def shell():
    phone = MockPhone()
    phone.load("contacts_search", 1)
    return ProcessShell(phone, clock=ManualClock(1_700_000_000_000))


def said(shell, line):
    result = shell.shell(line)
    return result.exit_code, result.stdout.decode(), result.stderr.decode()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("while [[ -z $(getprop sys.boot_completed) ]]; do sleep 1; done; echo booted", "booted\n"),
        ('until [ "$(getprop sys.boot_completed)" = "1" ]; do sleep 1; done; echo up', "up\n"),
        ("for f in 1 2 3; do echo $f; done | tail -1", "3\n"),
        ("for f in 1 2 3; do [ $f = 2 ] && break; echo $f; done", "1\n"),
        ("for f in 1 2 3; do [ $f = 2 ] && continue; echo $f; done", "1\n3\n"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $i", "3\n"),
        ("if [ -f /nope ]; then echo yes; elif true; then echo elif; else echo no; fi", "elif\n"),
        ("if false; then echo yes; fi; echo $?", "0\n"),
        ("case abc in a*|b*) echo first;; *) echo other;; esac", "first\n"),
        ("case x in a) echo a;; (x) echo x; esac", "x\n"),
        ("{ echo a; echo b; } | wc -l", "2\n"),
        ("(cd /sdcard && pwd); pwd", "/storage/emulated/0\n/\n"),
        ("(exit 3); echo $?", "3\n"),
        ("! false && echo negated", "negated\n"),
        ("X=abc; echo ${X#a} ${X%c} ${#X} ${Y:-none}", "bc ab 3 none\n"),
        ("X=abc; echo ${X:+set} ${Z=new}$Z", "set newnew\n"),
        ("P=/a/b/c.txt; echo ${P##*/} ${P%/*} ${P%%.*}", "c.txt /a/b /a/b/c\n"),
        ("echo $((1 + 2 * (3 - 1))) $((-7 / 2)) $((7 % 4)) $((0x10)) $((1 && 0))", "5 -3 3 16 0\n"),
        ("echo `echo inner` $(echo $(echo deep))", "inner deep\n"),
        ('echo "$(printf \'a b\')" $(printf "c   d")', "a b c d\n"),
        ("[[ abc == a* && ! -f /x || -z y ]] && echo holds", "holds\n"),
        ("[[ abc == 'a*' ]] || echo literal", "literal\n"),
        ("[ 2 -gt 1 -a x != y ] && echo both", "both\n"),
        ("echo one two | while read a b; do echo $b-$a; done", "two-one\n"),
        ("printf 'a\\nb\\n' | while read l; do echo [$l]; done", "[a]\n[b]\n"),
        ("sh -c 'echo inside; exit 3'; echo $?", "inside\n3\n"),
        ("eval 'X=5'; echo $X", "5\n"),
        ("cd /sdcard; echo hi > rel; cat /sdcard/rel; rm rel", "hi\n"),
        ("timeout 0.05 sleep 5; echo $?", "124\n"),
        ("X=1; (X=2); echo $X; { X=3; }; echo $X", "1\n3\n"),
        ("false || { echo a; false; } || echo b", "a\nb\n"),
        ("echo a; exec echo b; echo never", "a\nb\n"),
        ("true; X=$(false); echo $?", "1\n"),
        ("unset HOME; echo [$HOME]", "[]\n"),
        ("command -v input; type am", "/system/bin/input\n/system/bin/am\n"),
        ("echo 'a\\tb' -n", "a\tb -n\n"),
        ("echo a >&2; echo b", "b\n"),
        ("echo /sdcard/*", "/sdcard/Download /sdcard/Pictures\n"),
    ],
)  # fmt: skip
def test_line_does_what_it_says(shell, line, printed):
    code, out, _ = said(shell, line)

    assert (code, out) == (0, printed)


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("echo a b c | awk '{print $2}'", "b\n"),
        ("echo a/b/c | awk -F '/' '{print $1, $NF}'", "a c\n"),
        ("printf 'x 1\\ny 2\\n' | awk '$2 > 1 {print $1\"!\"}'", "y!\n"),
        ("printf 'x\\ny\\n' | awk '/y/'", "y\n"),
        ("printf 'a\\nb\\n' | awk 'NR==2'", "b\n"),
        ("printf 'a\\nb\\n' | awk 'END{print NR}'", "2\n"),
        ("echo a:b | awk -F: -v p=x '{printf \"%s-%s\\n\", p, $2}'", "x-b\n"),
        ("echo 'package:a.b' | sed 's/package://'", "a.b\n"),
        ("echo a.b.c | sed 's/\\./\\//g'", "a/b/c\n"),
        ("echo abc | sed -E 's/(a)(b)/\\2\\1/;s/c/[&]/'", "ba[c]\n"),
        ("printf 'a\\nb\\nc\\n' | sed -n '2p;$p'", "b\nc\n"),
        ("printf 'a\\nb\\nc\\n' | sed '1,2d'", "c\n"),
        ("printf 'a\\nb\\n' | sed '/a/!d'", "a\n"),
        ("echo a,b,c | cut -d, -f2-", "b,c\n"),
        ("echo abcdef | cut -c2-3,5", "bce\n"),
        ("echo hello | tr a-z A-Z | tr -d L", "HEO\n"),
        ("echo 'a  b' | tr -s ' '", "a b\n"),
        ("printf 'b\\na\\nb\\n' | sort -u", "a\nb\n"),
        ("printf '10\\n9\\n' | sort -n", "9\n10\n"),
        ("printf 'a\\na\\nb\\n' | uniq -c | awk '{print $1}'", "2\n1\n"),
        ("printf 'a b\\nc\\n' | xargs -n1 echo -", "- a\n- b\n- c\n"),
        ("printf 'a\\nb\\n' | xargs -I{} echo [{}]", "[a]\n[b]\n"),
        ("printf 'mFocus=1\\nother\\n' | grep -E 'mF|x' | grep -o '[0-9]'", "1\n"),
        ("printf 'a\\nA\\n' | grep -ic a", "2\n"),
        ("printf 'a+b\\nab\\n' | grep 'a+b'", "a+b\n"),
        ("printf 'a\\nb\\n' | grep -n b", "2:b\n"),
        ("printf 'a\\nb\\n' | grep -v a; printf 'x\\n' | grep -q y; echo $?", "b\n1\n"),
        ("printf 'a\\nb\\nc\\n' | tail -n +2 | head -1", "b\n"),
        ("printf abc | head -c 2", "ab"),
        ("printf abc | md5sum | cut -c1-8", "90015098\n"),
        ("printf abc | base64 | base64 -d", "abc"),
        ("printf '%05.1s|%3d|%x' abc 7 255", "    a|  7|ff"),
        ("seq 3 | tac | xargs echo", "3 2 1\n"),
        ("date -u +%Y-%m-%d", "2023-11-14\n"),
        ("basename /a/b.txt .txt; dirname /a/b", "b\n/a\n"),
        ("echo x > /sdcard/s; stat -c '%s %F' /sdcard/s; rm /sdcard/s", "2 regular file\n"),
        ("cd /sdcard; echo x > s; cp s t; mv t u; cat u; rm s u; ls", "x\nDownload\nPictures\n"),
        ("cd /sdcard; mkdir -p d/e; touch d/e/f.xml; find d -name '*.xml'; rm -r d", "d/e/f.xml\n"),
        ("echo a | tee /sdcard/t1 | cat - /sdcard/t1; rm /sdcard/t1", "a\na\n"),
    ],
)  # fmt: skip
def test_tools_print_what_androids_print(shell, line, printed):
    code, out, error = said(shell, line)

    assert (code, out, error) == (0, printed, "")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("echo $((1/0))", 2),
        ("echo ${X?unset}", 2),
        ("awk '{x=1}'", 2),
        ("sed y/a/b/", 1),
        ("grep '('", 1),
        ("grep -E '('", 2),
        ("tail -z", 2),
        ("find / -exec id", 1),
        ("date +%99999999d", 1),
        ("sleep x", 1),
        ("cd /nope", 2),
        ("seq 1 99999999", 1),
        ("[ a b c ]", 2),
    ],
)
def test_what_a_tool_does_not_have_is_an_error_of_one_line(shell, line, code):
    result = shell.shell(line)

    assert result.exit_code == code
    assert result.stdout == b""
    assert result.stderr.count(b"\n") <= 1


@pytest.mark.parametrize(
    "line",
    [
        "x=a; " + "x=$x$x$x$x;" * 16 + "echo done",
        "f='f'; sh -c \"$(printf 'sh -c %s' 'true')\"; cat /sdcard/nope",
        "seq 100000 | while read x; do break; done",
    ],
)
def test_greedy_line_ends(shell, line):
    assert shell.shell(line).exit_code in {0, 1}


@pytest.mark.parametrize("command", ["mkdir -p", "cat", "cd", "ls", "[ -e", "echo x >"])
def test_path_that_is_too_long_ends_the_command_with_an_error(shell, command):
    line = f"p=/sdcard$(printf '/a%.0s' $(seq 600)); {command} $p{' ]' if '[' in command else ''}"

    assert shell.shell(line).exit_code in {1, 2}


def test_script_that_runs_itself_is_ended(shell):
    shell.shell("echo 'sh /data/local/tmp/again' > /data/local/tmp/again")

    result = shell.shell("sh /data/local/tmp/again")

    assert result.exit_code == 1
    assert b"too deeply nested" in result.stderr


ANDROIDS_SHELL = shutil.which("mksh")
LINES = r"""
echo a  b; echo 'x  y' "z $HOME_"
X="a  b"; echo $X "$X" $X$X
X=abc; echo ${X#a}${X##*b}${X%c}${X%%b*}
echo ${U:-d e} "${U:-d e}" ${U-x}
for i in a "b c" d; do echo "[$i]"; done
for i in $(echo 1 2 3); do echo -n $i; done; echo
i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; [ $i = 2 ] && break; done
until false; do echo once; break; done
case foo in f?o) echo q;; esac; case foo in [a-e]*) echo n;; [f-h]*) echo y;; esac
if [ -z "" ] && [ -n x ]; then echo both; fi
false || true && echo chain
true && false || echo chain2
! true; echo $?
(exit 4); echo $?
{ false; }; echo $?
echo $(echo a; echo b)
echo "$(echo a; echo b)"
echo `echo \`echo in\``
echo $((3*4-5%3)) $((1<2)) $((2<<3)) $((~1)) $((!0)) $((1?2:3))
echo $((5/2)) $((-5/2)) $((-5%3))
[[ a == b || c == c ]] && echo y
[[ abc == *b* ]] && echo pat
[[ -n "" ]] || echo empty
[ 1 -eq 01 ] && echo eq
test -d / && echo dir
echo a | { read x; echo got $x; }
printf '%s\n' a b c | while read x; do echo "<$x>"; done
printf 'a b c\n' | while read x y; do echo "$y|$x"; done
echo one; echo two >&2; echo three
X=1 sh -c 'echo in'
X=$(false) ; echo $?
echo "a\nb"
echo -n x; echo y
echo 'single '"'"' quote'
echo "d\"q\$x\`"
echo a\ b
echo # comment
echo a#b
eval 'echo evaled; X=7'; echo $X
exec echo replaced; echo no
echo $?; false; echo $?
x=5; (x=6; echo $x); echo $x
A=1; B=$A$A; echo $B
echo "${A}b" ${#A}
echo a;echo b
echo *nonexist*
echo "*"
echo "$(printf 'x\n\n')" end
nope 2>/dev/null; echo $?
cat /nope 2>/dev/null || echo failed
echo hi | cat | wc -c
seq 3 | tail -1
exit 3
if false; then echo a; elif false; then echo b; else echo c; fi
for i in 1 2; do for j in 1 2; do [ $j = 2 ] && continue 2; echo $i$j; done; done
echo ${X:=new} $X
true | false; echo $?
echo a >&1
export Q=1; sh -c 'echo $Q'
pwd; cd /; pwd
echo "$@" $# "$*"
[ a = a -a b = b ] && echo and
[ ! -e /nope ] && echo not
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_line_does_what_androids_own_shell_does(shell, line):
    require(ANDROIDS_SHELL, "mksh, Android's shell, is not installed here")
    theirs = subprocess.run(
        [ANDROIDS_SHELL, "-c", line],
        capture_output=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        check=False,
    )

    ours = shell.shell(line)

    assert (ours.exit_code, ours.stdout) == (theirs.returncode, theirs.stdout)
