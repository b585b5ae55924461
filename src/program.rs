//! stub
use crate::{tape::*,verdict::*}; use std::ops::ControlFlow;
pub trait Observer { fn failed(&mut self, f: Failure)->ControlFlow<()>; }
#[derive(Clone,Copy)] pub struct Failure{pub reason:Reason,pub at:NodeIndex}
impl Failure{pub fn of(reason:Reason,at:NodeIndex)->Self{Self{reason,at}}}
#[derive(Default)] pub struct FirstFailure(Option<Failure>); impl FirstFailure{pub fn failure(&self)->Option<Failure>{self.0}}
impl Observer for FirstFailure{fn failed(&mut self,f:Failure)->ControlFlow<()>{self.0.get_or_insert(f);ControlFlow::Break(())}}
#[derive(Default)] pub struct AllFailures(Vec<Failure>); impl AllFailures{pub fn failures(&self)->&[Failure]{&self.0}}
impl Observer for AllFailures{fn failed(&mut self,f:Failure)->ControlFlow<()>{self.0.push(f);ControlFlow::Continue(())}}
#[derive(Default)] pub struct Scratch; #[derive(Default)] pub struct Options; #[derive(Debug,thiserror::Error)] #[error("x")] pub struct CompileError;
pub struct Explanation{pub schema:String,pub keyword:String,pub expected:String,pub found:String}
pub struct Program; impl Program{ pub fn compile(_:&str,_:&str,_:&Options)->Result<Self,CompileError>{Ok(Self)} pub fn execute<O:Observer>(&self,_:Tape<'_>,_:&mut Scratch,_:&mut O)->bool{true} pub fn explain(&self,_:Failure,_:Tape<'_>)->Option<Explanation>{None} }
pub fn first_duplicate(_:Tape<'_>,_:&mut Scratch)->Option<NodeIndex>{None}
