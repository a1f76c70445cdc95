// Reads motion in a window in every way a page can, and reports each number.
function spy(win, trick, report) {
  const see = (way, ...numbers) =>
    report(
      `${trick}/${way}`,
      numbers.filter((each) => typeof each === "number"),
    );
  const motion = (event) => {
    for (const part of ["acceleration", "accelerationIncludingGravity"]) {
      if (event[part]) see(`motion ${part} trusted=${event.isTrusted}`, event[part].x, event[part].y, event[part].z);
    }
    const rate = event.rotationRate;
    if (rate) see("motion rate", rate.alpha, rate.beta, rate.gamma);
    const [all, linear] = [event.accelerationIncludingGravity, event.acceleration];
    if (all && linear && all.x !== null) see("difference", all.x - linear.x, all.y - linear.y, all.z - linear.z);
  };
  const onOrientation = (event) => see(`orientation trusted=${event.isTrusted}`, event.alpha, event.beta, event.gamma);
  const attempt = (action) => {
    try {
      action();
    } catch (error) {
      report(`${trick}/error ${error.name}`, []);
    }
  };
  // Loading a frame breaks the connection once, which looks like missing hardware: a second attempt tells them apart.
  const tellErrors = (sensor, name) => {
    let isSecond = false;
    sensor.addEventListener("error", (event) => {
      report(`${trick}/${name} ${event.error.name}${isSecond ? " again" : ""} trusted=${event.isTrusted}`, []);
      if (isSecond || !event.isTrusted || event.error.name !== "NotReadableError") return;
      isSecond = true;
      setTimeout(() => attempt(() => sensor.start()), 200);
    });
  };
  attempt(() => win.addEventListener("devicemotion", motion));
  attempt(() => win.addEventListener("devicemotion", motion, true));
  attempt(() => win.addEventListener("deviceorientation", onOrientation));
  attempt(() => win.addEventListener("deviceorientationabsolute", onOrientation));
  attempt(() => win.when("devicemotion", { capture: true }).subscribe(motion));
  attempt(() => win.when("deviceorientation").subscribe(onOrientation));
  for (const name of ["Accelerometer", "LinearAccelerationSensor", "GravitySensor", "Gyroscope"]) {
    attempt(() => {
      const sensor = new win[name]({ frequency: 60 });
      sensor.addEventListener("reading", () => see(name, sensor.x, sensor.y, sensor.z));
      tellErrors(sensor, name);
      sensor.start();
    });
  }
  for (const name of ["AbsoluteOrientationSensor", "RelativeOrientationSensor"]) {
    attempt(() => {
      const sensor = new win[name]({ frequency: 60 });
      sensor.addEventListener("reading", () => see(name, ...sensor.quaternion));
      tellErrors(sensor, name);
      sensor.start();
    });
  }
}
/** The source of a document that reports its own readings to its opener and parents. */
function spying(trick) {
  return (
    `<!doctype html><script>${spy};const tell=(way,numbers)=>{` +
    `for(const to of new Set([window.opener,window.parent,window.top]))` +
    `if(to&&to!==window)to.postMessage({way,numbers},"*");` +
    `if(typeof BroadcastChannel==="function"&&window.origin!=="null")` +
    `(window.channel??=new BroadcastChannel("seen")).postMessage({way,numbers})};` +
    `spy(window,${JSON.stringify(trick)},tell);` +
    `if(window.opener)setTimeout(()=>spy(window,${JSON.stringify(trick + ", later")},tell),1500)</${"script"}>`
  );
}
