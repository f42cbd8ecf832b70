//! Text into a tree, with the limits of Kubernetes: 100,000 characters and 250 levels.
//!
//! The parser is our own because that of the `cel` crate 0.15 cannot serve: it has no two-variable macros and
//! rewrites the others before anyone sees them, its limit of depth is another one than Kubernetes', so the same
//! text would be taken by one and refused by the other, and it brings a generated parser with its runtime. This one
//! counts depth rule by rule as the reference grammar does, which also bounds its own recursion.

mod literal;

use super::ast::{Ast, Expr, ExprId, Literal, Name};
use super::diagnostic::{Diagnostic, Span};
use super::lex::{Kind, Token, lex};
use super::macros::expand;
use super::words::is_reserved;

/// Characters an expression may have.
const MAXIMUM_SIZE: usize = 100_000;
/// Levels of one grammar rule, and of the tree.
const MAXIMUM_DEPTH: u32 = 250;

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) ast: Ast,
    pub(crate) root: ExprId,
}

/// Parses `text` and rewrites its macros.
pub(crate) fn parse(text: &str) -> Result<Parsed, Diagnostic> {
    let size = text.chars().count();
    if size > MAXIMUM_SIZE {
        return Err(Diagnostic::new(
            Span::default(),
            format!("expression code point size exceeds limit: size: {size}, limit {MAXIMUM_SIZE}"),
        ));
    }
    let mut parser = Parser { text, tokens: lex(text)?, at: 0, ast: Ast::default(), depth: Depth::default() };
    let node = parser.expression().map_err(|diagnostic| *diagnostic)?;
    let next = parser.peek();
    if next.kind != Kind::End {
        return Err(*parser.unexpected(next));
    }
    if node.height > MAXIMUM_DEPTH {
        return Err(Diagnostic::new(parser.ast.span(node.id), "max recursion depth exceeded"));
    }
    Ok(Parsed { ast: parser.ast, root: node.id })
}

/// A node and how many operators, selections, calls and indexes are nested in it.
#[derive(Clone, Copy)]
struct Node {
    id: ExprId,
    height: u32,
}

/// How deep the parser is in each rule that nests.
#[derive(Default)]
struct Depth {
    expression: u32,
    relation: u32,
    sum: u32,
    member: u32,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    ast: Ast,
    depth: Depth,
}

/// The error is boxed to keep the frames of the recursion small.
type Result<T, E = Box<Diagnostic>> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Token {
        let end = Token { kind: Kind::End, span: Span::new(self.text.len(), self.text.len()) };
        self.tokens.get(self.at + by).copied().unwrap_or(end)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.peek().kind == kind;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, kind: Kind) -> Result<Token> {
        let token = self.take();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(token)) }
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default()
    }

    #[cold]
    fn unexpected(&self, token: Token) -> Box<Diagnostic> {
        let message = match token.kind {
            Kind::End => "syntax error: unexpected end of the expression".to_owned(),
            _ => format!("syntax error: unexpected `{}`", self.text_of(token)),
        };
        Box::new(Diagnostic::new(token.span, message))
    }

    fn deeper(span: Span, counter: &mut u32) -> Result<()> {
        *counter += 1;
        if *counter > MAXIMUM_DEPTH {
            let message = format!("expression recursion limit exceeded: {MAXIMUM_DEPTH}");
            return Err(Box::new(Diagnostic::new(span, message)));
        }
        Ok(())
    }

    fn call(&mut self, function: &'static str, arguments: &[Node], span: Span, counted: bool) -> Node {
        let height = arguments.iter().map(|node| node.height).max().unwrap_or(0) + u32::from(counted);
        let arguments = arguments.iter().map(|node| node.id).collect();
        Node {
            id: self.ast.push(Expr::Call { function: function.into(), target: None, arguments }, span),
            height,
        }
    }

    fn span(&self, node: Node) -> Span {
        self.ast.span(node.id)
    }

    fn expression(&mut self) -> Result<Node> {
        let span = self.peek().span;
        Self::deeper(span, &mut self.depth.expression)?;
        let mut node = self.logical(Kind::Or)?;
        if self.eat(Kind::Question) {
            let then = self.logical(Kind::Or)?;
            self.expect(Kind::Colon)?;
            let otherwise = self.expression()?;
            let span = self.span(node).to(self.span(otherwise));
            node = self.call("_?_:_", &[node, then, otherwise], span, true);
        }
        self.depth.expression -= 1;
        Ok(node)
    }

    /// A chain of `||` over chains of `&&`: one node with all terms, since their order is all that matters.
    fn logical(&mut self, operator: Kind) -> Result<Node> {
        let first = if operator == Kind::Or { self.logical(Kind::And)? } else { self.relation()? };
        if self.peek().kind != operator {
            return Ok(first);
        }
        let mut terms = vec![first];
        let mut last = first;
        while self.eat(operator) {
            last = if operator == Kind::Or { self.logical(Kind::And)? } else { self.relation()? };
            terms.push(last);
        }
        let span = self.span(first).to(self.span(last));
        Ok(self.call(if operator == Kind::Or { "_||_" } else { "_&&_" }, &terms, span, false))
    }

    fn relation(&mut self) -> Result<Node> {
        Self::deeper(self.peek().span, &mut self.depth.relation)?;
        let mut left = self.sum(0)?;
        while let Some(function) = relation_of(self.peek().kind) {
            let operator = self.take();
            Self::deeper(operator.span, &mut self.depth.relation)?;
            let right = self.sum(0)?;
            self.depth.relation -= 1;
            let span = self.span(left).to(self.span(right));
            left = self.call(function, &[left, right], span, true);
        }
        self.depth.relation -= 1;
        Ok(left)
    }

    /// Sums and products; only operators that bind at least as tightly as `tightness` are taken.
    fn sum(&mut self, tightness: u8) -> Result<Node> {
        Self::deeper(self.peek().span, &mut self.depth.sum)?;
        let mut left = self.unary()?;
        while let Some((function, binds)) =
            arithmetic_of(self.peek().kind).filter(|(_, binds)| *binds >= tightness)
        {
            self.take();
            let right = self.sum(binds + 1)?;
            let span = self.span(left).to(self.span(right));
            left = self.call(function, &[left, right], span, true);
        }
        self.depth.sum -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node> {
        let first = self.peek();
        if !matches!(first.kind, Kind::Not | Kind::Minus) {
            return self.member();
        }
        if first.kind == Kind::Minus && matches!(self.ahead(1).kind, Kind::Int | Kind::Double) {
            return self.member();
        }
        let mut odd = false;
        while self.eat(first.kind) {
            odd = !odd;
        }
        let operand = self.member()?;
        if !odd {
            return Ok(operand);
        }
        let span = first.span.to(self.span(operand));
        Ok(self.call(if first.kind == Kind::Not { "!_" } else { "-_" }, &[operand], span, false))
    }

    fn member(&mut self) -> Result<Node> {
        Self::deeper(self.peek().span, &mut self.depth.member)?;
        let mut node = self.primary()?;
        while matches!(self.peek().kind, Kind::Dot | Kind::OpenBracket) {
            let token = self.take();
            node = if token.kind == Kind::Dot { self.dotted(node)? } else { self.index(node)? };
        }
        self.depth.member -= 1;
        Ok(node)
    }

    fn dotted(&mut self, operand: Node) -> Result<Node> {
        let height = operand.height + 1;
        let optional = self.eat(Kind::Question);
        let name = self.expect(Kind::Ident)?;
        let field = self.text_of(name);
        let span = self.span(operand).to(name.span);
        if optional {
            let key = self.ast.push(Expr::Literal(Literal::String(field.into())), name.span);
            let call = Expr::Call { function: "_?._".into(), target: None, arguments: vec![operand.id, key] };
            return Ok(Node { id: self.ast.push(call, span), height });
        }
        if self.peek().kind == Kind::OpenParen {
            return self.invocation(field.to_owned().into(), Some(operand), name.span);
        }
        let field = field.to_owned().into();
        Ok(Node { id: self.ast.push(Expr::Select { operand: operand.id, field, test: false }, span), height })
    }

    fn index(&mut self, operand: Node) -> Result<Node> {
        let optional = self.eat(Kind::Question);
        let key = self.expression()?;
        let close = self.expect(Kind::CloseBracket)?;
        let span = self.span(operand).to(close.span);
        Ok(self.call(if optional { "_[?_]" } else { "_[_]" }, &[operand, key], span, true))
    }

    /// The arguments of a call and the call itself, or what its macro makes of it.
    fn invocation(&mut self, function: Name, target: Option<Node>, start: Span) -> Result<Node> {
        self.expect(Kind::OpenParen)?;
        let mut arguments = Vec::new();
        let mut height = target.map_or(0, |target| target.height);
        if self.peek().kind != Kind::CloseParen {
            loop {
                let argument = self.expression()?;
                height = height.max(argument.height);
                arguments.push(argument.id);
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
        }
        let close = self.expect(Kind::CloseParen)?;
        height += u32::from(target.is_some());
        let target = target.map(|target| target.id);
        let span = target.map_or(start, |target| self.ast.span(target)).to(close.span);
        if let Some(expanded) = expand(&mut self.ast, &function, target, &arguments, span) {
            return Ok(Node { id: expanded?, height });
        }
        Ok(Node { id: self.ast.push(Expr::Call { function, target, arguments }, span), height })
    }

    fn primary(&mut self) -> Result<Node> {
        let token = self.take();
        match token.kind {
            Kind::OpenParen => {
                let node = self.expression()?;
                self.expect(Kind::CloseParen)?;
                Ok(node)
            }
            Kind::OpenBracket => self.list(token),
            Kind::OpenBrace => self.map(token),
            Kind::Ident => self.named(token, false),
            Kind::Dot => {
                let name = self.expect(Kind::Ident)?;
                self.named(name, true)
            }
            _ => self.literal(token),
        }
    }

    fn named(&mut self, token: Token, rooted: bool) -> Result<Node> {
        let mut length = 0;
        while self.ahead(length).kind == Kind::Dot && self.ahead(length + 1).kind == Kind::Ident {
            length += 2;
        }
        let name = self.text_of(token);
        let dot = if rooted { "." } else { "" };
        if self.ahead(length).kind == Kind::OpenBrace {
            let mut full = format!("{dot}{name}");
            for _ in 0..length / 2 {
                self.take();
                let part = self.take();
                full.push('.');
                full.push_str(self.text_of(part));
            }
            return self.message(full, token.span);
        }
        if is_reserved(name) {
            return Err(Box::new(Diagnostic::new(token.span, format!("reserved identifier: {name}"))));
        }
        if self.peek().kind == Kind::OpenParen {
            return self.invocation(format!("{dot}{name}").into(), None, token.span);
        }
        Ok(Node { id: self.ast.push(Expr::Ident(format!("{dot}{name}").into()), token.span), height: 0 })
    }
}

fn relation_of(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Less => "_<_",
        Kind::LessEqual => "_<=_",
        Kind::Greater => "_>_",
        Kind::GreaterEqual => "_>=_",
        Kind::Equal => "_==_",
        Kind::NotEqual => "_!=_",
        Kind::In => "@in",
        _ => return None,
    })
}

fn arithmetic_of(kind: Kind) -> Option<(&'static str, u8)> {
    Some(match kind {
        Kind::Star => ("_*_", 2),
        Kind::Slash => ("_/_", 2),
        Kind::Percent => ("_%_", 2),
        Kind::Plus => ("_+_", 1),
        Kind::Minus => ("_-_", 1),
        _ => return None,
    })
}
