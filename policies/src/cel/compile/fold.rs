//! Loops.

use super::{Compiler, Known, Result, number};
use crate::cel::ast::{Comprehension, Expr, ExprId};
use crate::cel::check::Meaning;
use crate::cel::cost::LIST;
use crate::cel::program::{Fold, Op};
use crate::cel::value::Value;

impl Compiler<'_> {
    pub(super) fn fold(&mut self, fold: &Comprehension) -> Result {
        let slot = self.code.slots;
        self.code.slots += 3;
        self.value(fold.range)?;
        // A macro begins with a constant. A bound name has a computed value, which its first use computes; over an
        // empty range there is no loop at all.
        let initial = self.folded(fold.initial)?.map(|value| self.constant(value));
        let begin = self.emit(Op::Begin { fold: number(self.code.folds.len()), to: self.jump });
        let second = fold.second.as_ref().map(|_| slot + 2);
        self.code.folds.push(Fold { accumulator: slot, first: slot + 1, second, initial });
        let block = match initial {
            Some(_) => None,
            None => Some(self.block(fold.initial, slot)?),
        };
        self.scope.push(Known { slot, block });
        self.scope.push(Known { slot: slot + 1, block: None });
        self.scope.push(Known { slot: slot + 2, block: None });
        if !self.is_empty(fold.range)? {
            let next = self.emit(Op::Next { to: self.jump });
            let condition = match self.folded(fold.condition)? {
                Some(Value::Bool(true)) => None,
                _ => {
                    self.value(fold.condition)?;
                    Some(self.emit(Op::While { to: self.jump }))
                }
            };
            self.step(fold.step, slot)?;
            self.emit(Op::Gather { slot, to: number(next) });
            self.land(next);
            if let Some(condition) = condition {
                self.land(condition);
            }
        }
        self.emit(Op::End);
        self.scope.truncate(self.scope.len() - 2);
        self.value(fold.result)?;
        self.scope.pop();
        self.land(begin);
        Ok(())
    }

    fn is_empty(&mut self, range: ExprId) -> Result<bool> {
        Ok(matches!(self.folded(range)?, Some(Value::List(list)) if list.is_empty()))
    }

    /// Emits the code of a bound name beside the flow; returns where it begins.
    fn block(&mut self, value: ExprId, slot: u32) -> Result<u32> {
        let over = self.emit(Op::Jump { to: self.jump });
        let start = self.here();
        self.value(value)?;
        self.emit(Op::EndBlock { slot });
        self.land(over);
        Ok(start)
    }

    /// The step of a loop. Appending to the accumulator, the last operand, is done in place.
    fn step(&mut self, id: ExprId, slot: u32) -> Result {
        let ast = self.ast;
        let Expr::Call { function, target: None, arguments } = ast.expr(id) else { return self.value(id) };
        match (function.as_ref(), arguments.as_slice()) {
            ("_+_", [so_far, list]) if self.is_accumulator(*so_far, slot) => {
                let Expr::List(elements) = ast.expr(*list) else { return self.value(id) };
                let [element] = elements.as_slice() else { return self.value(id) };
                if element.optional {
                    return self.value(id);
                }
                // The name, the list unless it is constant, and the sum.
                let made = if self.folded(*list)?.is_some() { 0 } else { LIST };
                self.value(element.value)?;
                self.emit(Op::Append { slot, charge: number(2 + made as usize) });
                Ok(())
            }
            ("cel.@mapInsert", [so_far, key, value]) if self.is_accumulator(*so_far, slot) => {
                self.insert(*key, *value, slot)
            }
            ("cel.@mapInsert", [so_far, map]) if self.is_accumulator(*so_far, slot) => {
                self.emit(Op::Local { slot, charge: true });
                self.value(*map)?;
                self.emit(Op::InsertAll { slot });
                Ok(())
            }
            ("_?_:_", [condition, then, otherwise]) => {
                self.value(*condition)?;
                let branch = self.emit(Op::Branch { otherwise: self.jump, end: self.jump });
                if self.is_attribute(*then)? {
                    self.resolved(*then)?
                } else {
                    self.step(*then, slot)?
                }
                let over = self.emit(Op::Jump { to: self.jump });
                let here = self.here();
                if let Some(Op::Branch { otherwise, .. }) = self.code.operations.get_mut(branch) {
                    *otherwise = here;
                }
                self.resolved(*otherwise)?;
                self.land_all(&[branch, over]);
                Ok(())
            }
            _ => self.value(id),
        }
    }

    fn is_accumulator(&self, id: ExprId, slot: u32) -> bool {
        match (self.ast.expr(id), self.checked.meaning(id)) {
            (Expr::Ident(_), Some(Meaning::Local(place))) => {
                self.scope.get(place).is_some_and(|known| known.slot == slot && known.block.is_none())
            }
            _ => false,
        }
    }

    /// Three arguments: the first error ends the call uncharged.
    fn insert(&mut self, key: ExprId, value: ExprId, slot: u32) -> Result {
        self.emit(Op::Local { slot, charge: true });
        let broken = self.emit(Op::Bail { below: 0, to: self.jump, charge: 0 });
        // Only whether it is an error mattered; the insertion takes the map from its place.
        self.emit(Op::Drop);
        self.value(key)?;
        let bad_key = self.emit(Op::Bail { below: 0, to: self.jump, charge: 0 });
        self.value(value)?;
        self.emit(Op::Insert { slot });
        self.land_all(&[broken, bad_key]);
        Ok(())
    }
}
