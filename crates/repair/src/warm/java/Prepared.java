package greenlight;

import com.sun.source.tree.BlockTree;
import com.sun.source.tree.CaseTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.DoWhileLoopTree;
import com.sun.source.tree.EnhancedForLoopTree;
import com.sun.source.tree.ExpressionStatementTree;
import com.sun.source.tree.ForLoopTree;
import com.sun.source.tree.IfTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.StatementTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.tree.WhileLoopTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Predicate;
import javax.lang.model.element.Modifier;
import javax.tools.ToolProvider;

/** Source text with calls of `Probe` put in. */
final class Prepared extends TreeScanner<Void, Void> {
    /** A method that can be called by itself. */
    static final class Method {
        final String type;
        final String name;
        final List<String> parameters = new ArrayList<>();
        final List<String> names = new ArrayList<>();
        final boolean isStatic;
        final int body;
        private final long from;
        private final long to;

        private Method(String type, MethodTree tree, long from, long to, int body) {
            this.type = type;
            this.name = tree.getName().toString();
            for (var each : tree.getParameters()) {
                parameters.add(each.getType().toString().replaceAll("@\\w+ ?|<.*>|\\w+\\.", "").replace("...", "[]").trim());
                names.add(each.getName().toString());
            }
            this.isStatic = tree.getModifiers().getFlags().contains(Modifier.STATIC);
            this.from = from;
            this.to = to;
            this.body = body;
        }
    }

    private final String text;
    private final CompilationUnitTree unit;
    private final SourcePositions positions;
    private final TreeMap<Integer, StringBuilder> inserted = new TreeMap<>();
    private final List<Method> methods = new ArrayList<>();
    private final List<String> types = new ArrayList<>();
    private final int first;
    private int anonymous;
    /** The line of each place, from the first on. */
    final List<Integer> lines = new ArrayList<>();

    private Prepared(String path, String text, int first) throws IOException {
        this.text = text;
        this.first = first;
        var compiler = ToolProvider.getSystemJavaCompiler();
        var task = (JavacTask) compiler.getTask(Writer.nullWriter(), null, problem -> {}, List.of("-proc:none"), null, List.of(Compiler.source(path, text)));
        unit = task.parse().iterator().next();
        positions = Trees.instance(task).getSourcePositions();
        scan(unit, null);
    }

    static Prepared of(String path, String text, int first) {
        try {
            return new Prepared(path, text, first);
        } catch (IOException | RuntimeException | StackOverflowError error) {
            return null;
        }
    }

    /** With a call at every statement. */
    String traced() {
        var out = new StringBuilder();
        int done = 0;
        for (var each : inserted.entrySet()) {
            out.append(text, done, each.getKey()).append(each.getValue());
            done = each.getKey();
        }
        return out.append(text, done, text.length()).toString();
    }

    /** With a call at the beginning of this method. */
    static String recorded(String text, Method method, int number) {
        var arguments = method.names.isEmpty() ? "" : String.join(", ", method.names);
        var self = method.isStatic ? "null" : "this";
        var call = "greenlight.Probe.enter(" + number + ", " + self + ", new Object[] {" + arguments + "});";
        return text.substring(0, method.body) + call + text.substring(method.body);
    }

    /** The method that is wanted. Null if there is none. */
    Method same(Predicate<Method> isWanted) {
        return methods.stream().filter(method -> method.type != null).filter(isWanted).findFirst().orElse(null);
    }

    /** The innermost method around a position. Null if there is none that can be called by itself. */
    Method around(int position) {
        Method found = null;
        for (var method : methods)
            if (method.from <= position && position < method.to && (found == null || method.from >= found.from)) found = method;
        return found == null || found.type == null || found.name.equals("<init>") ? null : found;
    }

    private int start(Tree tree) {
        return (int) positions.getStartPosition(unit, tree);
    }

    private int end(Tree tree) {
        return (int) positions.getEndPosition(unit, tree);
    }

    private String hit(int position) {
        lines.add((int) unit.getLineMap().getLineNumber(position));
        return "greenlight.Probe.hit(" + (first + lines.size() - 1) + ");";
    }

    private void put(int position, String code) {
        if (position >= 0 && first + lines.size() < Probe.MOST) inserted.computeIfAbsent(position, ignored -> new StringBuilder()).append(code);
    }

    private void each(List<? extends StatementTree> statements) {
        for (var statement : statements) if (!isConstructor(statement) && start(statement) >= 0) put(start(statement), hit(start(statement)));
    }

    private static boolean isConstructor(StatementTree statement) {
        if (!(statement instanceof ExpressionStatementTree)) return false;
        var expression = ((ExpressionStatementTree) statement).getExpression();
        if (!(expression instanceof MethodInvocationTree)) return false;
        var name = ((MethodInvocationTree) expression).getMethodSelect().toString();
        return name.equals("this") || name.equals("super") || name.endsWith(".super");
    }

    /** A statement without braces. What is inside is put in later, and so ends before it. */
    private void body(StatementTree statement) {
        if (statement == null || statement instanceof BlockTree || start(statement) < 0) return;
        put(start(statement), "{" + hit(start(statement)));
        scan(statement, null);
        put(end(statement), "}");
    }

    private void bodyOrScan(StatementTree statement) {
        if (statement instanceof BlockTree) scan(statement, null);
        else body(statement);
    }

    @Override
    public Void visitBlock(BlockTree tree, Void none) {
        each(tree.getStatements());
        return super.visitBlock(tree, none);
    }

    @Override
    public Void visitCase(CaseTree tree, Void none) {
        if (tree.getStatements() != null) each(tree.getStatements());
        return super.visitCase(tree, none);
    }

    @Override
    public Void visitIf(IfTree tree, Void none) {
        scan(tree.getCondition(), none);
        bodyOrScan(tree.getThenStatement());
        bodyOrScan(tree.getElseStatement());
        return null;
    }

    @Override
    public Void visitForLoop(ForLoopTree tree, Void none) {
        scan(tree.getCondition(), none);
        bodyOrScan(tree.getStatement());
        return null;
    }

    @Override
    public Void visitEnhancedForLoop(EnhancedForLoopTree tree, Void none) {
        scan(tree.getExpression(), none);
        bodyOrScan(tree.getStatement());
        return null;
    }

    @Override
    public Void visitWhileLoop(WhileLoopTree tree, Void none) {
        scan(tree.getCondition(), none);
        bodyOrScan(tree.getStatement());
        return null;
    }

    @Override
    public Void visitDoWhileLoop(DoWhileLoopTree tree, Void none) {
        bodyOrScan(tree.getStatement());
        scan(tree.getCondition(), none);
        return null;
    }

    @Override
    public Void visitMethod(MethodTree tree, Void none) {
        if (tree.getBody() != null && start(tree) >= 0 && start(tree.getBody()) >= 0) {
            var type = anonymous > 0 || types.isEmpty() ? null : String.join("$", types);
            if (type != null && unit.getPackageName() != null) type = unit.getPackageName() + "." + type;
            methods.add(new Method(type, tree, start(tree), end(tree), start(tree.getBody()) + 1));
        }
        anonymous++;
        scan(tree.getBody(), none);
        anonymous--;
        return null;
    }

    @Override
    public Void visitClass(ClassTree tree, Void none) {
        types.add(tree.getSimpleName().toString());
        super.visitClass(tree, none);
        types.remove(types.size() - 1);
        return null;
    }

    @Override
    public Void visitNewClass(NewClassTree tree, Void none) {
        anonymous++;
        super.visitNewClass(tree, none);
        anonymous--;
        return null;
    }

    @Override
    public Void visitLambdaExpression(LambdaExpressionTree tree, Void none) {
        scan(tree.getBody(), none);
        return null;
    }

    @Override
    public Void visitVariable(VariableTree tree, Void none) {
        scan(tree.getInitializer(), none);
        return null;
    }
}
