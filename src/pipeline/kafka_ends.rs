//! stub
use super::*; pub struct A; impl Source for A{fn read(&mut self)->Result<Read,SourceError>{Ok(Read::End)}}
impl Sink for A{ fn write(&mut self,_:batch::Batch,_:&mut Vec<Receipt>)->Result<(),SinkError>{Ok(())} fn tend(&mut self,_:&mut Vec<Receipt>)->Result<(),SinkError>{Ok(())} fn tend_every(&self)->Duration{Duration::ZERO} fn finish(&mut self,_:&Stop,_:&mut Vec<Receipt>)->Result<(),SinkError>{Ok(())}}
pub fn check(_:&config::Config)->anyhow::Result<()>{Ok(())} pub fn connect(_:&config::Config,_:&Rules)->anyhow::Result<(A,A)>{Ok((A,A))}
