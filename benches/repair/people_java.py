"""The same as `people.py` for the 40 programs in Java: `python3 people_java.py GREENLIGHT QUIXBUGS [NAME…]`.

Each becomes a Maven project with the program and all of its tests. Maven must have downloaded what such a project
needs, because what runs in the sandbox has no network: run `mvn test` once in a project with `POM`. Needs a JDK, 17 to
19.
"""

import subprocess
import tempfile
from pathlib import Path

import people
from people import listed, shown, variations

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId>
  <artifactId>program</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.13.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.14.0</version>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-surefire-plugin</artifactId>
        <version>3.5.5</version>
        <configuration>
          <includes>
            <include>**/*_TEST.java</include>
          </includes>
        </configuration>
      </plugin>
    </plugins>
  </build>
</project>
"""
MAIN, TEST = "src/main/java/java_programs", "src/test/java/java_testcases/junit"
# The programs with objects as inputs use these.
SHARED = ("Node", "WeightedEdge")


class Java:
    """The programs in Java."""

    @staticmethod
    def names(source):
        files = listed(source, "correct_java_programs")
        return sorted(name.removesuffix(".java") for name in files if name.endswith(".java"))

    @staticmethod
    def edited(name):
        return f"{MAIN}/{name}.java"

    @staticmethod
    def case(source, name):
        _, inputs = people.Python.case(source, name.lower())
        files = {f"{MAIN}/{each}.java": shown(source, f"java_programs/{each}.java") for each in (*SHARED, name)}
        for each in (f"{name}_TEST", "QuixFixOracleHelper"):
            files[f"{TEST}/{each}.java"] = shown(source, f"java_testcases/junit/{each}.java")
        return files | {"pom.xml": POM, ".gitignore": "target/\n"}, inputs

    @staticmethod
    def is_right(source, name, text, inputs):
        if not inputs:
            return True
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            right = shown(source, f"correct_java_programs/{name}.java")
            classes = [("correct_java_programs", name, right), ("java_programs", name, text)]
            classes += [("java_programs", each, shown(source, f"java_programs/{each}.java")) for each in SHARED]
            for package, each, code in classes:
                (place / package).mkdir(exist_ok=True)
                (place / package / f"{each}.java").write_text(code)
            files = [str(place / package / f"{each}.java") for package, each, _ in classes]
            judge = str(Path(__file__).parent / "Judge.java")
            compiled = ["javac", "-nowarn", "-d", folder, judge, *files]
            subprocess.run(compiled, check=True, capture_output=True)
            both = [f"correct_java_programs.{name}", f"java_programs.{name}", name.lower()]
            written = "".join(words(each) + "\n" for each in variations(inputs))
            done = subprocess.run(
                ["java", "-Xmx512m", "-cp", folder, "Judge", *both],
                input=written,
                capture_output=True,
                text=True,
                check=True,
            )
            if done.stdout != "right\n":
                print(f"{name}: {done.stdout.strip()}")
            return done.stdout == "right\n"


def words(value):
    """What `Judge.java` reads."""
    if isinstance(value, list):
        return " ".join([f"l{len(value)}", *map(words, value)])
    if isinstance(value, str):
        return "s" + value.encode().hex()
    return {bool: "b", int: "i", float: "d"}[type(value)] + str(value)


if __name__ == "__main__":
    people.main(Java, __doc__)
