//! Literals: scalars, and lists, maps and messages written out.

use super::{Node, Parser, Result};
use crate::cel::ast::{Element, Entry, Expr, Field, Literal};
use crate::cel::diagnostic::{Diagnostic, Span};
use crate::cel::lex::{Kind, Token};
use crate::cel::unquote::unquote;

impl Parser<'_> {
    pub(super) fn literal(&mut self, token: Token) -> Result<Node> {
        let number = if token.kind == Kind::Minus { self.take() } else { token };
        let span = token.span.to(number.span);
        let refuse = |message: &str| Err(Box::new(Diagnostic::new(span, message)));
        let text = self.text_of(token);
        let literal = match token.kind {
            Kind::True => Literal::Bool(true),
            Kind::False => Literal::Bool(false),
            Kind::Null => Literal::Null,
            Kind::Minus => match number.kind {
                Kind::Int => match integer(self.text_of(number), true) {
                    Some(value) => Literal::Int(value),
                    None => return refuse("invalid int literal"),
                },
                Kind::Double => match double(self.text_of(number)) {
                    Some(value) => Literal::Double(-value),
                    None => return refuse("invalid double literal"),
                },
                _ => return Err(self.unexpected(number)),
            },
            Kind::Int => match integer(text, false) {
                Some(value) => Literal::Int(value),
                None => return refuse("invalid int literal"),
            },
            Kind::Uint => match unsigned(text) {
                Some(value) => Literal::Uint(value),
                None => return refuse("invalid uint literal"),
            },
            Kind::Double => match double(text) {
                Some(value) => Literal::Double(value),
                None => return refuse("invalid double literal"),
            },
            Kind::String | Kind::Bytes => {
                let value = unquote(text, token.kind == Kind::Bytes);
                let value = value.map_err(|message| Box::new(Diagnostic::new(span, message)))?;
                if token.kind == Kind::Bytes {
                    Literal::Bytes(value.into())
                } else {
                    Literal::String(String::from_utf8_lossy(&value).into())
                }
            }
            _ => return Err(self.unexpected(token)),
        };
        Ok(Node { id: self.ast.push(Expr::Literal(literal), span), height: 0 })
    }

    pub(super) fn list(&mut self, open: Token) -> Result<Node> {
        let mut elements = Vec::new();
        let mut height = 0;
        while !matches!(self.peek().kind, Kind::CloseBracket | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let node = self.expression()?;
            height = height.max(node.height);
            elements.push(Element { value: node.id, optional });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if elements.is_empty() {
            self.eat(Kind::Comma);
        }
        let close = self.expect(Kind::CloseBracket)?;
        Ok(Node { id: self.ast.push(Expr::List(elements), open.span.to(close.span)), height })
    }

    pub(super) fn map(&mut self, open: Token) -> Result<Node> {
        let mut entries = Vec::new();
        let mut height = 0;
        while !matches!(self.peek().kind, Kind::CloseBrace | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let key = self.expression()?;
            self.expect(Kind::Colon)?;
            let value = self.expression()?;
            height = height.max(key.height).max(value.height);
            entries.push(Entry { key: key.id, value: value.id, optional });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if entries.is_empty() {
            self.eat(Kind::Comma);
        }
        let close = self.expect(Kind::CloseBrace)?;
        Ok(Node { id: self.ast.push(Expr::Map(entries), open.span.to(close.span)), height })
    }

    pub(super) fn message(&mut self, name: String, start: Span) -> Result<Node> {
        self.expect(Kind::OpenBrace)?;
        let mut fields = Vec::new();
        let mut height = 0;
        while !matches!(self.peek().kind, Kind::CloseBrace | Kind::Comma) {
            let optional = self.eat(Kind::Question);
            let field = self.expect(Kind::Ident)?;
            self.expect(Kind::Colon)?;
            let value = self.expression()?;
            height = height.max(value.height);
            fields.push(Field { name: self.text_of(field).to_owned().into(), value: value.id, optional });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if fields.is_empty() {
            self.eat(Kind::Comma);
        }
        let close = self.expect(Kind::CloseBrace)?;
        let message = Expr::Message { name: name.into(), fields };
        Ok(Node { id: self.ast.push(message, start.to(close.span)), height })
    }
}

fn integer(text: &str, negative: bool) -> Option<i64> {
    let sign = if negative { "-" } else { "" };
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).ok(),
        None => format!("{sign}{text}").parse().ok(),
    }
}

fn unsigned(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['u', 'U']);
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number too large to be one is no literal.
fn double(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}
